import type { Engine } from '../engine.ts';

/**
 * The people who asked to be forgotten: digests of their names, each with the salt of one of the lists. `id`: a digest of
 * the salt. `moved`: the tallies of older lists that were taken over, divided by spaces. `revision` counts additions; its
 * row is the lock of them all.
 */
const forgottenPeople = ({ kind, int64, id, tableEnd }: Engine): string[] => [
  `create table forgotten_lists (
    id ${id} not null primary key,
    salt ${id} not null,
    position ${int64} not null unique,
    moved text
  )${tableEnd}`,
  `create table forgotten_people (digest ${id} not null primary key)${tableEnd}${kind === 'sqlite' ? ', without rowid' : ''}`,
  `create table forgotten_revision (
    id ${int64} not null primary key check (id = 1),
    revision ${int64} not null
  )${tableEnd}`,
];

/**
 * The imported profiles in PostgreSQL. The one row of `lead_set` describes the set that is searched: the table `name`,
 * in parts `<name>_1`, `<name>_2`, ..., each with the followers from its floor up to the floor before it. `list` and
 * `swept`: the list of forgotten people that the profiles were compared with, and its revision then.
 *
 * `find_leads` goes from the part with the most followers down, and ends with the part that completes the answer. One
 * statement over all parts would read every match, because no plan of PostgreSQL sorts one part after the other.
 * A search by words must use their index: in `0 - followers` no index on followers is recognized. Without words the
 * profiles are read in the order of that index.
 *
 * The index reads every profile of each word. So of many words, `few` are looked up first, and where they find few
 * profiles, these are compared with the rest. What stands in a `case` is not looked up in an index.
 */
const leadSet = ({ kind, int64, id }: Engine): string[] =>
  kind === 'sqlite'
    ? []
    : [
        `create table lead_set (
          id ${int64} not null primary key check (id = 1),
          name ${id} not null,
          floors ${int64}[] not null,
          generation ${id} not null,
          profiles ${int64} not null,
          facets text not null,
          folding text not null,
          list ${id} not null,
          swept ${int64} not null,
          updated_at ${int64} not null
        )`,
        `create function find_leads(
          words tsquery, few tsquery, lowest bigint, highest bigint, after_followers bigint, after_username text,
          wanted bigint
        ) returns setof text language plpgsql stable
        set enable_seqscan = off
        set enable_bitmapscan = on
        set jit = off
        as $function$
        declare
          one lead_set;
          rank text := case when words is null then '(-followers)' else '(0 - followers)' end;
          most constant int := 200;
          found tid[];
          added bigint;
        begin
          perform set_config('enable_bitmapscan', cast(words is not null as text), true);
          select * into one from lead_set;
          for part in 1 .. coalesce(cardinality(one.floors), 0) loop
            continue when one.floors[part] > highest;
            exit when wanted <= 0 or one.floors[part - 1] <= lowest;
            if few is not null then
              execute format(
                'select array_agg(place) from (select ctid as place from %I where terms @@ $1 limit $2) as one',
                one.name || '_' || part
              ) using few, most into found;
              continue when found is null;
            end if;
            return query execute format(
              'select profile from %I where %s and %s between -$2 and -$3
                and ($4 is null or (%s, username) > (-$4, $5)) order by %s, username limit $6',
              one.name || '_' || part,
              case when cardinality(found) < most then 'ctid = any($7) and case when terms @@ $1 then true end'
                else '($1 is null or terms @@ $1)' end,
              rank, rank, rank
            ) using words, highest, lowest, after_followers, after_username, wanted, found;
            get diagnostics added = row_count;
            wanted := wanted - added;
          end loop;
        end
        $function$`,
      ];

/** The profiles of a fleet, and the list of forgotten people. */
export const profiles = (engine: Engine): string[] => [...forgottenPeople(engine), ...leadSet(engine)];
