import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { callWithin } from '../kit/deadline.ts';
import { AppError } from '../kit/errors.ts';
import { createFairShareLimiter } from '../kit/fair-share-limiter.ts';
import type { JsonObject } from '../kit/json.ts';
import { sanitizeLine } from '../kit/text.ts';
import { toReason } from '../mounts/hide-secrets.ts';
import type { MountConfig } from '../mounts/mount-settings.ts';
import type { ToolOutcome } from '../mounts/mounted-server.ts';
import { visitServer } from '../mounts/visit-server.ts';
import { toolResult } from '../operations/tools/run-tool.ts';
import { exampleTool, serverField, toolField } from './tools.ts';
import { writeVerb } from './verb.ts';

/** Each call starts a server of its own. */
const visits = createFairShareLimiter({ total: 4 });
/** Of an item of content that is no text, in characters. */
const maxItemText = 200;

const wrongArguments = 'must be a JSON object, such as {"path":"a.txt"}';

export const callTool = writeVerb({
  name: 'call_tool',
  title: 'Call a tool of a mounted server',
  description:
    'Calls a tool once, accepted or not, and charges nobody. The server is started for it with the settings and secrets ' +
    'of the operator, beside the one that runs, and ends after it.',
  path: '/tools/{server}/{tool}/call',
  fields: {
    server: serverField,
    tool: toolField,
    arguments: z
      .record(z.string(), z.json(), wrongArguments)
      .default({})
      .describe("The tool's arguments, in JSON."),
  },
  output: toolResult,
  answer: 'CalledTool',
  example: { ...exampleTool, arguments: { path: '/srv/files/a.txt' } },
  exampleAnswer: { content: [{ type: 'text', text: 'hello' }] },
  errors: ['tool_not_found', 'too_many_active_jobs', 'upstream_unavailable', 'outcome_unknown'],
  command: {
    usage: 'tools call <server> <tool> [--arguments <json>]',
    more: 'The exit code is 1 if the tool says that it failed.',
    show: ({ content, structuredContent, isError }) => ({
      text: (content.length === 0 ? [structuredContent ?? {}] : content).map(toText).join('\n'),
      exitCode: isError === true ? 1 : 0,
    }),
  },
  // Arguments may be secrets, and the audit log keeps what it is given.
  logged: ({ server, tool }) => ({ server, tool }),
  handle: async ({ server, tool, arguments: given }, services) => {
    const config = await services.config();
    const mount = config.mounts.find(({ name }) => name === server);
    if (mount === undefined)
      throw new AppError('tool_not_found', `mcp_servers in causeway.yaml has no server ${server}.`);
    const leave = visits.tryAcquire({});
    if (leave === null)
      throw new AppError(
        'too_many_active_jobs',
        'Operators call four tools already. Try again after one ends.',
      );
    try {
      const outcome = await callOnce(mount, { tool, given, signal: services.gateway?.signal }, config);
      return toolResult.parse(resultOf(outcome, mount));
    } finally {
      leave();
    }
  },
});

const never = new AbortController().signal;

/** Never rejects. */
const callOnce = (
  mount: MountConfig,
  { tool, given, signal = never }: { tool: string; given: JsonObject; signal: AbortSignal | undefined },
  config: Config,
): Promise<ToolOutcome> =>
  visitServer<ToolOutcome>(mount, { config, signal }, (server) =>
    callWithin({
      call: (own) => server.call(tool, given, { signal: own }),
      timeoutMs: mount.timeouts.totalMs,
      signal,
    }).catch((cause: unknown) => ({ kind: 'unknown', cause })),
  ).catch((cause: unknown) => ({ kind: 'unsent', cause }));

/** Throws AppError if the tool did not run, or may have. */
const resultOf = (outcome: ToolOutcome, { name, target }: MountConfig): JsonObject => {
  if (outcome.kind === 'answered') return outcome.result;
  const { kind, cause } = outcome;
  const reason = toReason(cause, target);
  throw kind === 'unsent'
    ? new AppError(
        'upstream_unavailable',
        `The tool did not run: the server ${name} cannot be used (${reason}).`,
      )
    : new AppError('outcome_unknown', `The tool may have run, and there is no answer (${reason}).`);
};

/** Writes an item of content for people: its text, or else the beginning of its JSON. */
const toText = (item: Readonly<Record<string, unknown>>): string =>
  typeof item['text'] === 'string'
    ? item['text'].split('\n').map(sanitizeLine).join('\n')
    : sanitizeLine(JSON.stringify(item)).slice(0, maxItemText);
