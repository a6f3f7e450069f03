import type { Engine } from './engine.ts';

/** The embedded store writes to this table to test whether its disk is full. */
export const writeProbe = ({ kind }: Engine): string[] =>
  kind === 'sqlite' ? ['create table write_probe (id integer primary key, filler blob not null) strict'] : [];
