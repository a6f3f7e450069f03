import type { Engine } from './engine.ts';

/** Where the embedded store writes to learn whether its disk takes new work. */
export const writeProbe = ({ kind }: Engine): string[] =>
  kind === 'sqlite' ? ['create table write_probe (id integer primary key, filler blob not null) strict'] : [];
