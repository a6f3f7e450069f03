import { blocksTable, profilesTable } from '../generation-tables.ts';
import { revisionColumn } from '../load-snapshot.ts';

export interface NamedStatement {
  name: string;
  text: string;
}

/**
 * What a search asks of the tables of a generation. Each is bound to its plan: it looks rows up by their keys, one
 * after the other, whatever the planner thinks of the sizes of tables.
 */
export const partStatements = (generation: number): Record<'sizes' | 'blocks' | 'leads', NamedStatement> => {
  const [blocks, profiles] = [blocksTable.name(generation), profilesTable.name(generation)];
  return {
    /** $1 parts, $2 texts: each with each. A size is known without reading the block. */
    sizes: {
      name: `leads-sizes-${generation}`,
      text: forEachBlock('octet_length(block.data) as size', blocks),
    },
    /** As base64: the driver reads values as text only, and the usual hexadecimal form takes four times as long. */
    blocks: {
      name: `leads-blocks-${generation}`,
      text: forEachBlock(`encode(block.data, 'base64') as data`, blocks),
    },
    /** $1 parts, $2 places: pairs. At least one row, as the revision is wanted in any case. */
    leads: {
      name: `leads-profiles-${generation}`,
      text: `
        select ${revisionColumn} as revision, profile.lead
        from state left join (
          select found.lead
          from unnest($1::integer[], $2::integer[]) as wanted (part, place)
          cross join lateral (
            select lead from ${profiles}
            where ${profiles}.part = wanted.part and ${profiles}.place = wanted.place
            limit 1
          ) as found
        ) as profile on true`,
    },
  };
};

/** `columns` of the block that answers for each text in each part: the last one that does not start behind it. */
const forEachBlock = (columns: string, blocks: string): string => `
  select part.place as part, term.place as term, ${columns}
  from unnest($1::integer[]) with ordinality as part (id, place)
  cross join unnest($2::bytea[]) with ordinality as term (text, place)
  cross join lateral (
    select data from ${blocks}
    where ${blocks}.part = part.id and ${blocks}.start <= term.text
    order by ${blocks}.start desc limit 1
  ) as block`;
