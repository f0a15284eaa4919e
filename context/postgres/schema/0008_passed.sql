-- What a version says nothing of though its range holds it: messages that were pinned when they were read.
alter table summaries add column passed bigint[] not null default '{}';

update summaries s set passed = array(
    select k.seq from pin_marks k
    join messages m on m.tenant = k.tenant and m.session_id = k.session_id and m.seq = k.seq
    where k.tenant = s.tenant and k.session_id = s.session_id and m.thread = s.thread and k.spared
      and k.seq between s.first_seq and s.last_seq order by k.seq);

-- For each message that ever had a pin, whether it has one now.
drop view pin_marks;
create view pin_marks as
select tenant, session_id, seq, bool_or(ended_at is null and coalesce(until > now(), true)) as pinned
from pins group by tenant, session_id, seq;
