/** The SQL of a table that every generation has one of. */
export interface GenerationTable {
  name: (generation: number) => string;
  create: (generation: number) => string[];
  /** After the first rows came in: much quicker than before. */
  index: (generation: number) => string[];
}

/** Profiles as JSON text; `person` is person-digest.ts. A profile that is gone has no row. */
export const profilesTable: GenerationTable = {
  name: (generation) => `profiles_${generation}`,
  create: (generation) => [
    `create table profiles_${generation} (
       part integer not null,
       place integer not null,
       person uuid not null,
       lead text not null
     )`,
  ],
  index: (generation) => [
    `alter table profiles_${generation} add primary key (part, place)`,
    `alter table profiles_${generation} add unique (person)`,
  ],
};

/** part/term-blocks.ts. They do not compress, and are read whole. */
export const blocksTable: GenerationTable = {
  name: (generation) => `blocks_${generation}`,
  create: (generation) => [
    `create table blocks_${generation} (part integer not null, start bytea not null, data bytea not null)`,
    `alter table blocks_${generation} alter column data set storage external`,
  ],
  index: (generation) => [`alter table blocks_${generation} add primary key (part, start)`],
};
