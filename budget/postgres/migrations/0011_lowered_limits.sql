-- An index of the entries of lowered limits, which an approval request reads at its deadline.

-- For approvals, whose requests may be open for long on a scope with very many entries.
create index journal_of_lowered on journal (tenant, (scope_ids[1]), number) where kind = 'limit_lowered';
