-- Views of conversations for other packages.

create view summary_facts as
select s.tenant, s.session_id, s.thread, s.version, s.key, s.created_at, s.tokens_before, s.tokens_after, s.method, s.trigger,
       s.model, s.text,
       (select count(*) from messages m where m.tenant = s.tenant and m.session_id = s.session_id and m.thread = s.thread
        and m.seq between s.first_seq and s.last_seq) as messages
from summaries s;
