import { z } from 'zod';
import { AppError, messages } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import { parsePointer } from '../../kit/json-pointer.ts';
import { throttle } from '../../kit/repeat.ts';
import { formatUsd } from '../../kit/money.ts';
import type { OfferedTool } from '../../mounts/create-mounts.ts';
import { signInName } from '../../mounts/oauth-settings.ts';
import { longestCallMs } from '../../mounts/mount-settings.ts';
import { jsonAnswer } from '../answer.ts';
import type { AccountCall, Call, Services } from '../call.ts';
import { soldOperation } from '../define-operation.ts';
import { billHeaders, keptAnswer, waitForEnd } from '../jobs/job-answer.ts';
import { needsAccount } from '../per-call-sale.ts';
import { assertAffordable, insufficient, openPrepaid, runningJob, tooManyActive } from '../prepaid.ts';
import type { PrepaidSale } from '../sale.ts';
import { mayCallTool } from './offered-tools.ts';
import { outcomeUnknown, toolResult, type ToolWork } from './run-tool.ts';
import { invalid, maxIssues, notAField } from '../validate.ts';
import { priceInWords, toPriceParts } from './tool-price.ts';

/** After the longest call, a job ends in this time. */
const marginMs = 10_000;
/** Progress of a server that comes sooner after the last is not passed on. */
const progressMs = 250;
const w3cTrace = /^00-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

const input = z.strictObject({
  server: z.string().max(64).describe('The name of the mounted server.'),
  tool: z.string().max(64).describe('The name of the tool, as `GET /v1/tools` has it.'),
  arguments: z
    .record(z.string(), z.json())
    .default({})
    .describe("The tool's arguments, as its `input_schema` in `GET /v1/tools` says."),
});
type Input = z.output<typeof input>;

/** What the operation takes of the services. */
type Needs = Pick<
  Services,
  'mounts' | 'store' | 'clock' | 'jobs' | 'config' | 'accountLimiter' | 'usageTags'
>;

/** The most tools that documents name. */
const maxItems = 200;

const restPath = ({ server, definition }: Pick<OfferedTool, 'server' | 'definition'>): string =>
  `/v1/tools/${server}/${definition.name}`;

const sale: PrepaidSale<Input, OfferedTool, Needs & Services> = {
  kind: 'prepaid',
  waits: true,
  idempotentPart: (called) => called,

  perCall: {
    description: 'Tool call',
    unit: { one: 'tool call', many: 'tool calls' },
    tags: ['tools', 'mcp'],
    inputSchema: { type: 'object', properties: { arguments: { type: 'object' } } },
    items: ({ mounts }) =>
      mounts
        .known()
        .filter(({ price }) => price > 0n)
        .slice(0, maxItems)
        .map((tool) => ({
          ...{ name: tool.name, path: restPath(tool), price: tool.price, note: priceInWords(tool) },
          inputExample: { arguments: {} },
        })),
    quote: async (called, _buyer, services) => {
      const tool = await findTool(called, { caller: null }, services);
      if (tool.price === 0n) throw needsAccount('This tool is free, and takes no payment');
      const { server, definition, price } = tool;
      return {
        most: price,
        parts: { server, tool: definition.name, ...toPriceParts(tool), most_usd: formatUsd(price) },
        paths: { rest: restPath(tool), mcp: '/mcp/tools' },
        unpaidMs: tool.unpaidMs,
      };
    },
    check: async (called, call, services) => {
      const tool = await admitCall(called, call, services);
      await assertAffordable(tool.price, call, services);
      // An account that has no turn left now does not pay. The call takes its own when it runs.
      takeTurn(tool, call, services)();
      await countCall(tool, call, services);
      return tool;
    },
  },

  open: async (called, call, services, { idempotency, checked }) => {
    // Also after the payment: the tool may have been taken back since.
    const tool = await admitCall(called, call, services);
    await assertAffordable(tool.price, call, services);
    if (checked === undefined) await countCall(tool, call, services);
    const endTurn = takeTurn(tool, call, services);
    let ended: Promise<unknown> = Promise.resolve();
    try {
      const job = runningJob(call, { kind: 'tool', model: tool.name, deadlineMs: longestCallMs }, services);
      const opened = await openPrepaid(services, call, { job, hold: tool.price, idempotency });
      if (opened.outcome === 'insufficient') throw insufficient({ ...opened, needed: tool.price });
      if (opened.outcome === 'opened') {
        const { progress, trace, cancelled } = call;
        const traceparent = trace?.['traceparent'];
        const work: ToolWork = {
          tool,
          input: called.arguments,
          onProgress: progress && throttle(progressMs, progress),
          traceparent:
            typeof traceparent === 'string' && w3cTrace.test(traceparent) ? traceparent : undefined,
          // A tool that has a price may have done its work before anybody cancels the call, so that goes on and is charged.
          cancelled: tool.price === 0n ? cancelled : undefined,
        };
        ended = services.jobs.start(opened.job, work).finished;
        call.memory.holdUntil(ended);
      }
      return { job: opened.job, isReplayed: opened.outcome === 'replayed' };
    } finally {
      void ended.then(endTurn, endTurn);
    }
  },

  answer: async ({ job }, _called, call, services) => {
    const timeoutMs = longestCallMs + marginMs;
    const { progress } = call;
    const beat = progress && { progress: () => progress({}) };
    const limits = { job, timeoutMs, longestMcpMs: timeoutMs };
    const ended = await waitForEnd(limits, { ...call, ...beat }, services);
    const headers = { 'cache-control': 'no-store', ...billHeaders(ended, services.config) };
    // A client that repeats a 502 by itself would get the same again.
    const isFinal = ended.error?.code === outcomeUnknown.code;
    const result = keptAnswer(
      ended,
      { ...headers, ...(isFinal ? { 'x-should-retry': 'false' } : {}) },
      'This call goes on. Send it again with the same Idempotency-Key.',
    );
    return jsonAnswer(JSON.parse(result) as JsonObject, { headers });
  },
};

/** Finds a tool that the account can call now. Throws AppError. */
const admitCall = async (
  called: Input,
  call: AccountCall,
  services: Pick<Services, 'mounts' | 'config'>,
): Promise<OfferedTool> => {
  const tool = await findTool(called, call, services);
  if (JSON.stringify(called.arguments).length > tool.maxInput)
    throw new AppError(
      'payload_too_large',
      `The server of this tool takes arguments of at most ${tool.maxInput} characters. Send less. Nothing was charged.`,
    );
  refuseSandboxMoney(tool, call, services);
  await refuseAbsent(tool, call, services);
  return tool;
};

/** Throws AppError `tool_not_found`, and 422 for arguments that the tool does not take. */
const findTool = async (
  { server, tool, arguments: given }: Input,
  { caller }: Pick<Call, 'caller'>,
  services: Pick<Services, 'mounts'>,
): Promise<OfferedTool> => {
  const offered = await services.mounts.offered();
  const found = offered.find((one) => one.server === server && one.definition.name === tool);
  if (found === undefined || !mayCallTool(caller, found))
    throw new AppError('tool_not_found', messages.tool_not_found);
  // Loaded only where a server is mounted.
  const { findMisfits } = await import('../../mounts/check-tool.ts');
  const { inputSchema } = found.definition;
  const issues = findMisfits(inputSchema, given)
    .map((misfit) => ({ ...misfit, path: parsePointer(misfit.instancePath) }))
    .filter(({ path, schemaPath }) =>
      path.length === 0
        ? // Other rules of the whole may name arguments that the operator sets.
          schemaPath === '#/required' || schemaPath === '#/additionalProperties'
        : // Models write null for an argument that they leave out, and many servers take it so.
          path.length > 1 || given[path[0] ?? ''] !== null,
    )
    .slice(0, maxIssues)
    .map(({ path, params, message }) => {
      const { additionalProperty: name } = params as { additionalProperty?: string };
      const known = path.length === 0 ? Object.keys(inputSchema['properties'] ?? {}) : [];
      return name === undefined
        ? { loc: ['body', 'arguments', ...path], msg: message ?? 'has a wrong form', type: 'value_error' }
        : { loc: ['body', 'arguments', ...path, name], msg: notAField(name, known), type: 'extra_forbidden' };
    });
  if (issues.length > 0) throw invalid(issues);
  return found;
};

/** Throws AppError 429 if the account has made too many calls of the server in this minute. */
const countCall = (
  { server, callsPerMinute }: OfferedTool,
  { caller: { accountId } }: AccountCall,
  { accountLimiter }: Pick<Services, 'accountLimiter'>,
): Promise<unknown> => accountLimiter.consume(accountId, callsPerMinute, `calls of ${server}`);

const tooManyOfStrangers =
  'This account, or all accounts of wallets without money together, have as many calls of this server under way as they ' +
  'may. Wait until one ends, or add money to the account.';

/** Returns a function that ends the turn. Throws AppError 429 if the account has too many calls of the server at once. */
const takeTurn = (
  tool: OfferedTool,
  { caller }: AccountCall,
  { mounts }: Pick<Services, 'mounts'>,
): (() => void) => {
  const release = mounts.takeTurn(tool, caller);
  if (release === null) throw tooManyActive(caller.isStranger === true ? tooManyOfStrangers : undefined);
  return () => release();
};

/** What a tool does is real, so sandbox credit does not pay for it, but the test money of a wallet where that is taken. */
const refuseSandboxMoney = (
  { price }: OfferedTool,
  { caller, payment }: AccountCall,
  { config: { x402 } }: Pick<Services, 'config'>,
): void => {
  const isFromWallet = payment !== undefined || caller.isSignedIn === true;
  if (price > 0n && caller.isSandbox && (x402.takesRealMoney || !isFromWallet))
    throw new AppError(
      'insufficient_balance',
      'This tool costs real money, and this account holds sandbox credit.',
    );
};

/** Says which secrets or sign-in the server of a tool needs, or when it is there again. */
const refuseAbsent = async (
  { server }: OfferedTool,
  { caller: { accountId } }: AccountCall,
  { mounts }: Pick<Services, 'mounts'>,
): Promise<void> => {
  const lacking = await mounts.secrets.lacks({ accountId, server });
  const page = mounts.signIns.pageOf(server);
  if (page !== null && lacking.includes(signInName))
    throw new AppError(
      'permission_denied',
      `This tool acts in the name of a person, who has to sign in at ${page} first. Nothing was charged.`,
      { page },
    );
  if (lacking.length > 0)
    throw new AppError(
      'invalid_value',
      `This tool acts with secrets of your own. Set ${lacking.join(', ')} with PUT /v1/tools/${server}/secrets. Nothing was charged.`,
    );
  const restMs = mounts.restMs({ accountId, server });
  if (restMs === null) return;
  const retryAfterSeconds = Math.max(1, Math.ceil(restMs / 1_000));
  throw new AppError(
    'upstream_unavailable',
    `The server of this tool is busy, or is being started again. Try again in ${retryAfterSeconds} s. Nothing was charged.`,
    { retryAfterSeconds },
  );
};

const exampleResult = { content: [{ type: 'text', text: 'hello' }] };

/** Calls one of the tools that mounted servers have at that time. At /mcp/tools each of them is a tool of its own. */
export const callMountedTool = soldOperation<Input, PrepaidSale<Input>>({
  name: 'call_mounted_tool',
  title: 'Call a tool',
  description:
    'Calls a tool of a mounted MCP server, and answers its result as MCP has it. A tool with a price is charged if it ' +
    'succeeds: nothing is charged if it fails (`isError`) or does not answer. If it may have run without an answer, the ' +
    'refusal is `outcome_unknown`, and the same Idempotency-Key never runs it again.',
  group: 'tools',
  input,
  output: toolResult,
  rest: {
    path: '/v1/tools/{server}/{tool}',
    isStrict: true,
    isBodyOptional: true,
    errors: [
      'tool_not_found',
      'permission_denied',
      'invalid_value',
      'too_many_active_jobs',
      'upstream_unavailable',
      'outcome_unknown',
    ],
  },
  docs: {
    answer: 'ToolResult',
    mayBeSandbox: false,
    examples: [
      {
        summary: 'Read a file',
        parameters: { server: 'files', tool: 'read_text_file' },
        body: { arguments: { path: '/srv/files/a.txt' } },
        answer: exampleResult,
      },
    ],
    wrong: { server: 'files', tool: 'read_text_file', arguments: 'a.txt' },
  },
  tool: null,
  sale,
});
