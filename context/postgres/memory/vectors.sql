-- name: exists
select to_regclass('memory_vectors') is not null;

-- name: unembedded
select m.session_id, m.seq, m.body
from memory_sessions i
join messages m on m.tenant = i.tenant and m.session_id = i.session_id and m.role in ('user', 'assistant')
    and m.seq > case when i.embedded_model = $3 then i.embedded_seq else 0 end and m.seq <= i.last_seq
where i.tenant = $1 and i.session_id = any($2)
order by m.session_id, m.seq limit $4;

-- name: add
-- A message without text has a null instead of a vector.
with added as (
    insert into memory_vectors (tenant, session_id, seq, model, embedding)
    select $1, session_id, seq, $2, embedding::vector
    from unnest($3::text[], $4::bigint[], $5::text[]) as v (session_id, seq, embedding)
    where embedding is not null
    on conflict (tenant, session_id, seq) do update set model = excluded.model, embedding = excluded.embedding
)
update memory_sessions i
set embedded_seq = greatest(done.seq, case when i.embedded_model = $2 then i.embedded_seq end), embedded_model = $2
from (select session_id, max(seq) as seq from unnest($3::text[], $4::bigint[]) as v (session_id, seq) group by 1) as done
where i.tenant = $1 and i.session_id = done.session_id;

-- name: nearest
-- Ordered by cosine distance. $5 and $6: messages to leave out.
select session_id, seq from memory_vectors
where tenant = $1 and session_id = any($2) and model = $3 and vector_dims(embedding) = vector_dims($4::text::vector)
    and (session_id, seq) not in (select * from unnest($5::text[], $6::bigint[]))
order by embedding <=> $4::text::vector, session_id, seq limit $7;
