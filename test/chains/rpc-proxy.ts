import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  answerRpcBody,
  internalError,
  readRpcBody,
  RpcError,
  rpcFailure,
  serverError,
  type RpcBody,
  type RpcForward,
} from './json-rpc.ts';
import {
  createRpcFaults,
  type RpcControls,
  type RpcFault,
  type RpcFaults,
  type Strike,
} from './rpc-faults.ts';

export interface RpcProxy {
  /** On loopback, with no path. */
  url: string;
  controls: RpcControls;
  stop: () => Promise<void>;
}

export interface RpcProxyOptions {
  /** The node: another process, or a function in this one. */
  forward: RpcForward;
  /** 0 takes a free one. */
  port: number;
}

const maxBodyBytes = 1024 ** 2;

class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

const readText = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** What goes back: an HTTP answer, or nothing but the end of the connection. */
type Answer = { status: number; text: string } | 'cut';

interface ProxyContext {
  forward: RpcForward;
  faults: RpcFaults;
}

const passOn = async (body: RpcBody, { forward }: ProxyContext): Promise<Answer> => ({
  status: 200,
  text: await forward(body),
});

const answerWithError = (body: RpcBody): Answer => {
  const error = new RpcError(serverError, 'Injected fault');
  return { status: 200, text: answerRpcBody(body, (call) => rpcFailure(call.id, error)) };
};

type StruckAnswer = (body: RpcBody, context: ProxyContext, strike: Strike) => Promise<Answer>;

const struckAnswers: Record<RpcFault, StruckAnswer> = {
  error: (body) => Promise.resolve(answerWithError(body)),
  unavailable: () => Promise.resolve({ status: 503, text: 'Service unavailable' }),
  disconnect: () => Promise.resolve('cut'),
  hang: async (_body, _context, strike) => {
    await strike.ended;
    return 'cut';
  },
  'lose-answer': async (body, context) => {
    await passOn(body, context);
    return 'cut';
  },
  'hang-answer': async (body, context, strike) => {
    await passOn(body, context);
    await strike.ended;
    return 'cut';
  },
  hold: async (body, context, strike) => {
    await strike.ended;
    return passOn(body, context);
  },
};

const answerBody = (body: RpcBody, context: ProxyContext): Promise<Answer> => {
  const strike = context.faults.strike(body.calls.map((call) => call.method));
  return strike === null ? passOn(body, context) : struckAnswers[strike.fault](body, context, strike);
};

const refuse = (error: unknown): Answer => {
  if (error instanceof BodyTooLarge) return { status: 413, text: 'Request body too large' };
  if (error instanceof RpcError) return { status: 200, text: JSON.stringify(rpcFailure(null, error)) };
  return { status: 502, text: JSON.stringify(rpcFailure(null, new RpcError(internalError, String(error)))) };
};

const answerRequest = async (request: IncomingMessage, context: ProxyContext): Promise<Answer> => {
  if (request.method !== 'POST') return { status: 405, text: 'Only POST is served here' };
  try {
    return await answerBody(readRpcBody(await readText(request)), context);
  } catch (error) {
    return refuse(error);
  }
};

const serve = async (
  request: IncomingMessage,
  response: ServerResponse,
  context: ProxyContext,
): Promise<void> => {
  const answer = await answerRequest(request, context);
  if (answer === 'cut') {
    response.destroy();
    return;
  }
  // A body that was not read to its end would be taken for the next request.
  if (!request.complete) response.setHeader('connection', 'close');
  response.writeHead(answer.status, { 'content-type': 'application/json' });
  response.end(answer.text);
};

const close = async (server: Server): Promise<void> => {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
};

/** Serves a node's JSON-RPC on loopback, with switches for everything that can go wrong on the way. */
export const startRpcProxy = async ({ forward, port }: RpcProxyOptions): Promise<RpcProxy> => {
  const faults = createRpcFaults();
  const server = createServer((request, response) => {
    void serve(request, response, { forward, faults });
  });
  // A connection that the server closes for idleness can break a request that is just being sent on it.
  server.keepAliveTimeout = 0;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The RPC has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    controls: faults,
    stop: async () => {
      faults.clearFaults();
      await close(server);
    },
  };
};

/** Hands bodies on to a node over HTTP, as they came. */
export const forwardTo =
  (url: string): RpcForward =>
  async (body) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body.text,
      signal: AbortSignal.timeout(30_000),
    });
    return response.text();
  };
