import { z } from 'zod';
import { toIso } from '../kit/clock.ts';
import { AppError, wrongField } from '../kit/errors.ts';
import { formatUsd } from '../kit/money.ts';
import { sanitizeLine } from '../kit/text.ts';
import type { Config } from '../config/config.ts';
import { freeOfCharge } from '../mounts/mount-settings.ts';
import { readSpan, usageExample, usageFields } from '../operations/account/get-usage.ts';
import { count, time, timeOf, timeOrNullOf, usd, usdOf } from '../operations/answer-fields.ts';
import { priceTexts, toPriceParts } from '../operations/tools/tool-price.ts';
import { defineView } from '../operations/view.ts';
import type { MountedToolRow, ToolSum } from '../store/store.ts';
import { lineField, msPerDay } from './fields.ts';
import { readVerb, writeVerb, type OperatorServices } from './verb.ts';

type State = 'new' | 'accepted' | 'changed' | 'refused';

/** Only an accepted tool is listed and called. */
export const stateOf = ({ pin, acceptedPin }: Pick<MountedToolRow, 'pin' | 'acceptedPin'>): State => {
  if (pin === null) return 'refused';
  if (acceptedPin === null) return 'new';
  return pin === acceptedPin ? 'accepted' : 'changed';
};

const priceOf = ({ server, tool }: MountedToolRow, { mounts }: Pick<Config, 'mounts'>) =>
  toPriceParts(mounts.find(({ name }) => name === server)?.prices.get(tool) ?? freeOfCharge);

const examplePin = 'f1c1a3e0a7f6d1f0f3bb9c1f8a1e4c4f3b1a0f5d8e7c6b5a4938271605f4e3d2';
export const exampleTool = { server: 'files', tool: 'read_text_file' };

const toolView = defineView<MountedToolRow, Pick<Config, 'mounts'>>({
  state:
    '`new`: nobody has accepted it. `changed`: it is another one than was accepted. `refused`: it has a problem. Only an ' +
    '`accepted` one is listed to callers and called.',
  pin: 'SHA-256 of what a model reads of it now; null if it is refused.',
  problem: 'Why it is refused.',
  ...priceTexts,
  accepted_by: 'The actor in the audit log.',
})({
  server: [z.string(), 'server', exampleTool.server],
  tool: [z.string(), 'tool', exampleTool.tool],
  state: [z.enum(['new', 'accepted', 'changed', 'refused']), stateOf, 'new'],
  price_usd: [z.string(), (row, config) => priceOf(row, config).price_usd, '0.002'],
  unit: [z.enum(['call', 'row']), (row, config) => priceOf(row, config).unit, 'call'],
  max_rows: [z.int().nullable(), (row, config) => priceOf(row, config).max_rows, null],
  pin: [z.string().nullable(), 'pin', examplePin],
  problem: [z.string().nullable(), 'problem', null],
  seen_at: timeOf('seenAt', '2026-11-01T08:00:00.000Z'),
  accepted_at: timeOrNullOf('acceptedAt', null),
  accepted_by: [z.string().nullable(), 'acceptedBy', null],
});

const definitionSchema = z.record(z.string(), z.json());
type Definition = z.output<typeof definitionSchema>;

const readDefinition = (text: string | null): Definition | null =>
  text === null ? null : definitionSchema.parse(JSON.parse(text));

export const serverField = lineField(32).describe('The name of the server in `mcp_servers`.');
export const toolField = lineField(64).describe('The name of the tool on its server.');

/** Throws AppError `tool_not_found`. */
const findTool = async (
  { server, tool }: { server: string; tool: string },
  { store }: Pick<OperatorServices, 'store'>,
): Promise<MountedToolRow> => {
  const found = (await store.listMountedTools(server)).find((one) => one.tool === tool);
  if (found !== undefined) return found;
  throw new AppError('tool_not_found', `The server ${server} has listed no tool ${tool}. See "tools list".`);
};

const toolList = z.strictObject({ tools: z.array(toolView.schema) });

const table = {
  columns: 'server tool state price_usd=USD unit=PER pin=PIN problem',
  row: ({ pin }: z.output<typeof toolView.schema>) => ({ pin: pin?.slice(0, 12) }),
};

export const listTools = readVerb({
  name: 'list_tools',
  title: 'List the tools of mounted servers',
  description: 'The tools that the mounted MCP servers have, each with its state and price.',
  path: '/tools',
  fields: { server: serverField.optional() },
  output: toolList,
  answer: 'MountedToolList',
  command: {
    usage: 'tools list [--server <name>]',
    table: { ...table, none: 'No running gateway has listed tools of a mounted server.' },
  },
  handle: async ({ server }, { store, config }) => {
    const [rows, settings] = [await store.listMountedTools(server ?? null), await config()];
    return { tools: rows.map((row) => toolView.show(row, settings)) };
  },
});

export const showTool = readVerb({
  name: 'show_tool',
  title: 'Show a tool of a mounted server',
  description: 'What a model reads of a tool, as its server lists it now and as it was accepted last.',
  path: '/tools/{server}/{tool}',
  fields: { server: serverField, tool: toolField },
  output: z.strictObject({
    tool: toolView.schema,
    definition: definitionSchema.nullable(),
    accepted: definitionSchema.nullable(),
  }),
  answer: 'MountedTool',
  example: exampleTool,
  exampleAnswer: { definition: { name: 'read_text_file', inputSchema: { type: 'object' } }, accepted: null },
  errors: ['tool_not_found'],
  command: {
    usage: 'tools show <server> <tool>',
    show: ({ tool, definition }) =>
      `${tool.server} ${tool.tool}: ${tool.state}${tool.problem === null ? '' : `. ${tool.problem}`}\n` +
      linesOf(definition).join('\n'),
  },
  handle: async (named, services) => {
    const row = await findTool(named, services);
    return {
      tool: toolView.show(row, await services.config()),
      definition: readDefinition(row.definition),
      accepted: readDefinition(row.accepted),
    };
  },
});

/** Writes a definition for people: one line for each member, without what a terminal would not show. */
const linesOf = (definition: Definition | null): string[] =>
  Object.entries(definition ?? {}).map(([name, value]) => sanitizeLine(`${name}: ${JSON.stringify(value)}`));

const changeSchema = z.strictObject({
  member: z.string(),
  accepted: z.json().describe('Null: it had none.'),
  now: z.json().describe('Null: it has none.'),
});

/** The members of a definition that are others than were accepted. */
const changesOf = (row: MountedToolRow): z.output<typeof changeSchema>[] => {
  const [before, now] = [readDefinition(row.accepted) ?? {}, readDefinition(row.definition) ?? {}];
  return [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .map((member) => ({ member, accepted: before[member] ?? null, now: now[member] ?? null }))
    .filter(({ accepted, now: latest }) => JSON.stringify(accepted) !== JSON.stringify(latest));
};

export const diffTools = readVerb({
  name: 'diff_tools',
  title: 'Compare tools with what was accepted',
  description:
    'The tools of a server that are new or have changed since they were accepted, and what of them.',
  path: '/tools/diff',
  fields: { server: serverField },
  output: z.strictObject({
    tools: z.array(z.strictObject({ tool: toolView.schema, changes: z.array(changeSchema) })),
  }),
  answer: 'MountedToolDiff',
  example: { server: 'files' },
  exampleAnswer: {
    tools: [
      {
        tool: {
          ...toolView.example,
          state: 'changed',
          accepted_at: '2026-11-01T07:00:00.000Z',
          accepted_by: 'cli:root',
        },
        changes: [{ member: 'description', accepted: 'Reads a file.', now: 'Reads a file as text.' }],
      },
    ],
  },
  command: {
    usage: 'tools diff <server>',
    show: ({ tools }) =>
      tools.length === 0
        ? 'Every tool is as it was accepted, or refused.'
        : tools
            .flatMap(({ tool, changes }) => [
              `${tool.tool} (${tool.state}, pin ${tool.pin ?? ''})`,
              ...changes.flatMap(({ member, accepted, now }) => [
                ...(accepted === null ? [] : [sanitizeLine(`- ${member}: ${JSON.stringify(accepted)}`)]),
                ...(now === null ? [] : [sanitizeLine(`+ ${member}: ${JSON.stringify(now)}`)]),
              ]),
            ])
            .join('\n'),
  },
  handle: async ({ server }, { store, config }) => {
    const [rows, settings] = [await store.listMountedTools(server), await config()];
    return {
      tools: rows
        .filter((row) => ['new', 'changed'].includes(stateOf(row)))
        .map((row) => ({ tool: toolView.show(row, settings), changes: changesOf(row) })),
    };
  },
});

export const acceptTools = writeVerb({
  name: 'accept_tools',
  title: 'Accept tools of a mounted server',
  description:
    'Lets callers see and call tools as their server lists them now: one tool, or all that are new or changed. A tool that ' +
    'changes later is held back again.',
  path: '/tools/accept',
  fields: {
    server: serverField,
    tool: toolField.optional(),
    pin: z
      .string()
      .max(64)
      .regex(/^[0-9a-f]{12,64}$/, 'must be a pin, or its first 12 digits or more')
      .optional()
      .describe('Accepts the one tool only if this is its pin, or the beginning of it.'),
  },
  output: toolList,
  answer: 'MountedToolList',
  example: { ...exampleTool, pin: examplePin },
  exampleAnswer: {
    tools: [
      {
        ...toolView.example,
        state: 'accepted',
        accepted_at: '2026-11-01T08:00:00.000Z',
        accepted_by: 'key:01a205f9',
      },
    ],
  },
  errors: ['tool_not_found', 'invalid_value'],
  command: {
    usage: 'tools accept <server> [<tool>] [--pin <pin>]',
    more: 'See "tools diff" first. A pin covers the texts and schemas of a tool, not what it does.',
    examples: ['files'],
    table: { ...table, none: 'There was nothing to accept.' },
  },
  handle: async ({ server, tool, pin }, services, callId) => {
    const { store, clock, config } = services;
    const rows =
      tool === undefined
        ? await store.listMountedTools(server)
        : [await findTool({ server, tool }, services)];
    if (pin !== undefined && tool === undefined)
      throw wrongField('invalid_value', 'pin', 'A pin is of one tool. Name the tool too.');
    const refused = tool === undefined ? undefined : rows.find((row) => stateOf(row) === 'refused');
    if (refused !== undefined)
      throw wrongField('invalid_value', 'tool', `This tool cannot be accepted. ${refused.problem ?? ''}`);
    const wanted = rows.flatMap(({ tool: name, pin: seen, acceptedPin }) =>
      seen === null || seen === acceptedPin ? [] : [{ tool: name, pin: seen }],
    );
    const isOther = pin !== undefined && rows.some((row) => row.pin?.startsWith(pin) !== true);
    const accepted = isOther
      ? []
      : await store.acceptMountedTools({ server, pins: wanted, now: clock.now(), callId });
    if (isOther || accepted.length < wanted.length)
      throw wrongField('invalid_value', 'pin', 'A tool has changed meanwhile. See "tools diff" again.');
    const settings = await config();
    return {
      tools: (await store.listMountedTools(server))
        .filter((row) => accepted.includes(row.tool))
        .map((row) => toolView.show(row, settings)),
    };
  },
});

const serverOf = ({ model }: ToolSum): string => model.split('__')[0] ?? '';

/** The cost of calls is known where the gateway pays for them. */
const isCostKnown = (sum: ToolSum, { mounts }: Pick<Config, 'mounts'>): boolean =>
  sum.cost > 0n || mounts.some(({ name, pay }) => name === serverOf(sum) && pay !== null);

const revenueView = defineView<ToolSum, Pick<Config, 'mounts'>>({
  calls: 'Those that have ended.',
  errors: 'Calls that failed, or whose result was `isError`.',
  p50_ms: 'Half of the calls took at most so long.',
  p95_ms: 'As `p50_ms`, for 95 of 100 calls.',
  income_usd: 'What callers paid, without refunds.',
  cost_usd: 'What the server was paid by x402 (`pay`). Null: unknown.',
  loss_usd: 'The part of the cost that was paid for calls that were not charged. Null: unknown.',
  margin_usd: 'Income without the cost. Null: unknown.',
})({
  server: [z.string(), serverOf, exampleTool.server],
  tool: [z.string(), ({ model }) => model.split('__').slice(1).join('__'), exampleTool.tool],
  calls: [count, 'calls', 120],
  errors: [count, 'errors', 2],
  p50_ms: [count, 'p50Ms', 14],
  p95_ms: [count, 'p95Ms', 80],
  income_usd: usdOf('income', '0.236'),
  cost_usd: [usd.nullable(), (sum, config) => (isCostKnown(sum, config) ? formatUsd(sum.cost) : null), null],
  loss_usd: [usd.nullable(), (sum, config) => (isCostKnown(sum, config) ? formatUsd(sum.loss) : null), null],
  margin_usd: [
    usd.nullable(),
    (sum, config) => (isCostKnown(sum, config) ? formatUsd(sum.income - sum.cost) : null),
    null,
  ],
});

/** The store sorts all calls of the time by their duration. */
const maxSumDays = 366;

export const toolRevenue = readVerb({
  name: 'sum_up_tools',
  title: 'Sum up calls of mounted tools',
  description:
    'Calls of mounted tools that began in a time, of 366 days at most, and have ended, by server and tool: errors, ' +
    'durations, income and cost.',
  path: '/tools/revenue',
  fields: usageFields,
  output: z.strictObject({ from: time, to: time, tools: z.array(revenueView.schema) }),
  answer: 'MountedToolRevenue',
  example: usageExample.parameters,
  exampleAnswer: { from: usageExample.answer.from, to: usageExample.answer.to, tools: [revenueView.example] },
  errors: ['invalid_range'],
  command: {
    usage: 'tools revenue [--from <time>] [--to <time>]',
    of: 'tools',
    table: {
      columns:
        'server tool calls errors p50_ms=P50 p95_ms=P95 income_usd=USD cost_usd=COST loss_usd=LOSS margin_usd=MARGIN',
      none: 'No call of a mounted tool ended in this time.',
    },
  },
  handle: async (asked, { store, clock, config }) => {
    const { from, to } = readSpan(asked, clock.now());
    if (to - from > maxSumDays * msPerDay)
      throw wrongField(
        'invalid_range',
        'from',
        `from: must be at most ${maxSumDays} days before to, which is ${toIso(to)}.`,
      );
    const [sums, settings] = [await store.sumToolCalls({ from, to }), await config()];
    return { from: toIso(from), to: toIso(to), tools: sums.map((sum) => revenueView.show(sum, settings)) };
  },
});
