/** A call as a node receives it; `id` is sent back as it came. */
export interface RpcCall {
  id: unknown;
  method: string;
  params: unknown;
}

/** A request body that was understood: one call, or a batch. */
export interface RpcBody {
  /** As it came, for a node that is asked over HTTP. */
  text: string;
  calls: RpcCall[];
  isBatch: boolean;
}

/** Answers a whole body with the text of the JSON answer. */
export type RpcForward = (body: RpcBody) => Promise<string>;

/** A refusal with its JSON-RPC code. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const parseError = -32_700;
const invalidRequest = -32_600;
export const methodNotFound = -32_601;
export const invalidParams = -32_602;
export const internalError = -32_603;
export const serverError = -32_000;

const readCall = (value: unknown): RpcCall => {
  if (typeof value !== 'object' || value === null || !('method' in value) || typeof value.method !== 'string')
    throw new RpcError(invalidRequest, 'Invalid request');
  return {
    id: 'id' in value ? value.id : null,
    method: value.method,
    params: 'params' in value ? value.params : [],
  };
};

/** Throws RpcError: -32700 for what is no JSON, -32600 for JSON that is no call. */
export const readRpcBody = (text: string): RpcBody => {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new RpcError(parseError, 'Parse error');
  }
  if (!Array.isArray(message)) return { text, calls: [readCall(message)], isBatch: false };
  if (message.length === 0) throw new RpcError(invalidRequest, 'Invalid request');
  return { text, calls: message.map(readCall), isBatch: true };
};

export const rpcResult = (id: unknown, result: unknown): object => ({ jsonrpc: '2.0', id, result });

export const rpcFailure = (id: unknown, error: RpcError): object => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: error.code,
    message: error.message,
    ...(error.data === undefined ? {} : { data: error.data }),
  },
});

/** One answer a call, in the shape of the question. */
export const answerRpcBody = (body: RpcBody, answer: (call: RpcCall) => object): string => {
  const answers = body.calls.map(answer);
  return JSON.stringify(body.isBatch ? answers : answers[0]);
};
