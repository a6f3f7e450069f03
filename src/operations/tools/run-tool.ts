import { z } from 'zod';
import { AppError, type ErrorEnvelope } from '../../kit/errors.ts';
import type { Json, JsonObject } from '../../kit/json.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import type { Executor } from '../../jobs/executor.ts';
import type { Log } from '../../kit/log.ts';
import type { Mounts, OfferedTool } from '../../mounts/create-mounts.ts';
import { failedResult, wrongForm, type CallContext } from '../../mounts/mounted-server.ts';
import { takeRows } from '../../mounts/take-rows.ts';
import type { ChargedUnits } from '../chat/text-job.ts';

/** The result of a tool, as MCP has it. */
export const toolResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).describe('Text, images, audio and resources.'),
  structuredContent: z.record(z.string(), z.json()).optional().describe('The result as JSON.'),
  isError: z.boolean().optional().describe('True: the tool failed; the content says why.'),
});

/** The work of a job that calls a tool. It stays in the process that opened the job. */
export interface ToolWork extends Omit<CallContext, 'signal'> {
  tool: Pick<OfferedTool, 'server' | 'tool' | 'definition' | 'pin' | 'price' | 'rows'>;
  input: JsonObject;
  /** Aborts when the caller cancels the call. */
  cancelled?: AbortSignal | undefined;
}

/** The error of a call that may have run. It is not charged, and its idempotency key never runs it again. */
export const outcomeUnknown: ErrorEnvelope = new AppError(
  'outcome_unknown',
  'The server of this tool did not answer, and the tool may have run. Nothing was charged, and this call is not repeated: ' +
    'look at what the tool changes, and call it anew with another idempotency key if it did not run.',
).toEnvelope();

/** The error of a call that was not sent. `hasSecrets`: the server acts with secrets or a sign-in of the account. */
const unavailable = (hasSecrets: boolean): ErrorEnvelope =>
  new AppError(
    'upstream_unavailable',
    `The server of this tool cannot be reached now${hasSecrets ? ', or refuses the secrets that you set or your sign-in' : ''}. ` +
      'The tool did not run, and nothing was charged. Try again.',
  ).toEnvelope();

/** Runs the jobs that call tools of mounted servers. A tool that says that it failed is not charged. */
export const createRunTool =
  ({ mounts, log }: { mounts: Pick<Mounts, 'call' | 'secrets'>; log: Log }): Executor =>
  async ({ accountId }, { work, signal }) => {
    const { tool, input, cancelled, ...context } = work as ToolWork;
    const outcome = await mounts.call({ ...tool, accountId }, input, {
      ...context,
      maxCost: tool.price,
      signal: cancelled === undefined ? signal : AbortSignal.any([signal, cancelled]),
    });
    switch (outcome.kind) {
      case 'answered': {
        const bill = await billOf(outcome.result, tool);
        if (typeof bill !== 'string') return { status: 'done', result: outcome.result, media: [], ...bill };
        log.warn({ server: tool.server, tool: tool.tool, problem: bill }, 'an answer of a tool was withheld');
        return {
          status: 'done',
          result: failedResult(bill),
          charge: 0n,
          media: [],
          metadata: { isError: true },
        };
      }
      case 'unsent':
        return {
          status: 'failed',
          error: unavailable(mounts.secrets.namesOf(tool.server).length > 0),
          metadata: {},
        };
      case 'unknown':
        return { status: 'failed', error: outcomeUnknown, metadata: {} };
    }
  };

const withoutRows =
  'The answer of this tool has no list of rows where they are counted, so it was not passed on. Nothing was charged.';

/** Prices an answer, and cuts the rows that are not sold. Returns a sentence if it cannot be sold. */
const billOf = async (
  result: JsonObject,
  { definition: { outputSchema }, price, rows }: ToolWork['tool'],
): Promise<{ charge: Nano; metadata: { bill?: ChargedUnits; isError?: true } } | string> => {
  const hasFailed = result['isError'] === true;
  const count = rows === null || hasFailed ? 0 : takeRows(result, rows);
  // Clients throw where a tool does not answer as it says that it does, some also where it has failed.
  const isFit = outputSchema === undefined || (await fits(outputSchema, result['structuredContent']));
  if (hasFailed && !isFit) delete result['structuredContent'];
  if (hasFailed) return { charge: 0n, metadata: { isError: true } };
  if (!isFit) return wrongForm;
  if (rows === null) return { charge: price, metadata: {} };
  if (count === null) return withoutRows;
  const bill = { units: { rows: count }, rate: { unit: 'row', price_usd: formatUsd(rows.each) } };
  return { charge: rows.each * BigInt(count), metadata: { bill } };
};

const fits = async (schema: JsonObject, content: Json | undefined): Promise<boolean> => {
  // Loaded only where a server is mounted.
  const { findMisfits } = await import('../../mounts/check-tool.ts');
  return content !== undefined && findMisfits(schema, content).length === 0;
};
