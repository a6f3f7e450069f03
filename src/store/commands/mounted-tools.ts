import { columns, orNull, text, time, type RowOf } from '../columns.ts';
import { read, run, writeTransaction } from '../command.ts';
import { eachOf, hasRows, statement, valuesOf } from '../statement.ts';

const seenFields = {
  server: text(),
  tool: text(),
  /** JSON text of what a model reads of it, as its server lists it now; null if it has a problem. */
  definition: orNull(text()),
  /** SHA-256 of the definition. */
  pin: orNull(text()),
  /** Why it cannot be offered. */
  problem: orNull(text()),
  seenAt: time(),
};
const toolFields = {
  ...seenFields,
  /** The definition that an operator accepted last; null: none. */
  accepted: orNull(text()),
  acceptedPin: orNull(text()),
  acceptedAt: orNull(time()),
};
/** A tool of a mounted server. `acceptedBy`: the actor in the audit log. */
export type MountedToolRow = RowOf<typeof toolFields> & { acceptedBy: string | null };
const seen = columns(seenFields);
const tools = columns(toolFields);

export type SeenTool = Pick<MountedToolRow, 'tool' | 'definition' | 'pin' | 'problem'>;

/** Lists the tools that the mounted servers have, or had when they were accepted, in the order of their names. */
export const listMountedTools = read({
  text: `select ${tools.list('t.')}, a.actor as accepted_by from mounted_tools t
    left join audit_log a on a.id = t.accepted_in
    where cast($1 as text) is null or t.server = $1 order by t.server, t.tool`,
  values: (server: string | null) => [server],
  read: eachOf((row: Record<string, never>): MountedToolRow => ({
    ...tools.read(row),
    acceptedBy: row['accepted_by'] ?? null,
  })),
});

/** Returns the pins that operators accepted. */
export const listAcceptedPins = read({
  text: 'select server, tool, accepted_pin as pin from mounted_tools where accepted_pin is not null',
  read: (rows: { server: string; tool: string; pin: string }[]) => rows,
});

interface Listed {
  server: string;
  names: readonly string[];
}

const dropUnaccepted = statement({
  text: ({ isOneOf }) =>
    `delete from mounted_tools where server = $1 and accepted is null and not (${isOneOf('tool', '$2')})`,
  values: valuesOf<Listed>('server', 'names'),
});

const markMissing = statement({
  text: ({ isOneOf }) =>
    `update mounted_tools set definition = null, pin = null, problem = 'The server does not list it any more.'
      where server = $1 and not (${isOneOf('tool', '$2')})`,
  values: valuesOf<Listed>('server', 'names'),
});

const upsertSeen = statement({
  text: `insert into mounted_tools (${seen.list()}) values (${seen.parameters()})
    on conflict (server, tool) do update set definition = excluded.definition, pin = excluded.pin,
      problem = excluded.problem, seen_at = excluded.seen_at`,
  values: seen.values,
});

/**
 * Notes what a server lists now. Tools that it does not have any more are forgotten, unless they were accepted: then they
 * have a problem until they are back.
 */
export const noteMountedTools = writeTransaction(function* ({
  server,
  tools: listed,
  now,
}: {
  server: string;
  tools: readonly SeenTool[];
  now: number;
}) {
  const names = listed.map(({ tool }) => tool);
  yield* run(dropUnaccepted, { server, names });
  yield* run(markMissing, { server, names });
  for (const tool of listed) yield* run(upsertSeen, { ...tool, server, seenAt: now });
});

const acceptOne = statement({
  text: `update mounted_tools set accepted = definition, accepted_pin = pin, accepted_at = $4, accepted_in = $5
    where server = $1 and tool = $2 and pin = $3 returning 1 as accepted`,
  values: valuesOf<{ server: string; tool: string; pin: string; now: number; callId: string }>(
    'server',
    'tool',
    'pin',
    'now',
    'callId',
  ),
  read: hasRows,
});

/**
 * Accepts tools with these pins, in a change of the audit log. Returns the names of those that were accepted: a tool with
 * another pin has changed meanwhile.
 */
export const acceptMountedTools = writeTransaction(function* ({
  pins,
  ...change
}: {
  server: string;
  pins: readonly { tool: string; pin: string }[];
  now: number;
  callId: string;
}) {
  const accepted: string[] = [];
  for (const pin of pins) if (yield* run(acceptOne, { ...change, ...pin })) accepted.push(pin.tool);
  return accepted;
});
