-- Events in an order that readers can continue from, progress of tasks, webhooks.
select 1; -- to be replaced
