-- Layers, fidelity and failures of compressions.
select 1;
