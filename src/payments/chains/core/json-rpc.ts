import { z } from 'zod';
import { createHttpClient } from '../../../http/http-client.ts';
import { OutboundError } from '../../../http/outbound.ts';
import { readText } from '../../../http/send-request.ts';

/** The node gave no usable answer: it says nothing about what was asked. The message carries no address. */
export class RpcOutage extends Error {
  override readonly name = 'RpcOutage';
}

export class RpcRefusal extends Error {
  override readonly name = 'RpcRefusal';
  readonly code: number;
  /** What a contract reverted with, in hex; null where the node does not tell. */
  readonly data: string | null;

  constructor(code: number, message: string, data: string | null = null) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const isRefusal = (error: unknown): error is RpcRefusal => error instanceof RpcRefusal;

export const isNodeTrouble = (error: unknown): error is RpcOutage | RpcRefusal =>
  error instanceof RpcOutage || error instanceof RpcRefusal;

export interface JsonRpc {
  /** Throws RpcOutage or RpcRefusal. */
  request(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown>;
}

const connectMs = 10_000;
/** Some nodes stand behind a redirect to https. */
const maxRedirects = 20;
const longestAnswer = 1024 ** 2;

const answerSchema = z.union([
  z.object({
    error: z.object({
      code: z.number(),
      message: z.string(),
      // Some nodes put other things there.
      data: z
        .string()
        .regex(/^0x[0-9a-fA-F]*$/)
        .optional()
        .catch(undefined),
    }),
  }),
  z.object({ result: z.unknown() }),
]);

/** Describes a failure in words that cannot hold the node's address, which may be a secret. */
const describeFailure = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  if (typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code)) return code;
  return error instanceof OutboundError ? error.failure : error.name;
};

/** A client of one node, without retries: whoever asks decides what may be asked twice. */
export const createJsonRpc = ({ url, timeoutMs }: { url: string; timeoutMs: number }): JsonRpc => {
  const http = createHttpClient({ connectMs, maxRedirects });
  let lastId = 0;
  return {
    request: async (method, params, signal) => {
      lastId += 1;
      let answer: unknown;
      try {
        const sent = await http.send(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }),
          timeouts: { totalMs: timeoutMs },
          signal,
          limits: { totalBytes: longestAnswer },
        });
        answer = JSON.parse(await readText(sent, longestAnswer));
      } catch (error) {
        throw new RpcOutage(`the node did not answer (${describeFailure(error)})`);
      }
      const parsed = answerSchema.safeParse(answer);
      if (!parsed.success) throw new RpcOutage(`the node answered ${method} with something else`);
      if (!('error' in parsed.data)) return parsed.data.result;
      const { code, message, data } = parsed.data.error;
      throw new RpcRefusal(code, message, data ?? null);
    },
  };
};

/** Puts one question, and takes no answer but one of that form. Throws RpcOutage or RpcRefusal. */
export type Ask = <T>(schema: z.ZodType<T>, method: string, ...params: unknown[]) => Promise<T>;

export const askWithin =
  (rpc: JsonRpc, signal: AbortSignal): Ask =>
  async (schema, method, ...params) => {
    const parsed = schema.safeParse(await rpc.request(method, params, signal));
    if (!parsed.success) throw new RpcOutage(`the node answered ${method} with something else`);
    return parsed.data;
  };

/** Wrong parameters. On Solana also failed preflight, wrong signatures, and transactions of an unknown form. */
const verdictCodes = new Set([-32_602, -32_002, -32_003, -32_013, -32_015]);

/** Tells whether the node refused the question itself. All other errors say nothing about it. */
export const isVerdict = (error: unknown): boolean =>
  error instanceof RpcRefusal && verdictCodes.has(error.code);
