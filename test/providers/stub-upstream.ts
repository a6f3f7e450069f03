import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Usage as OpenAI reports it. */
interface StubUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens?: number;
  prompt_tokens_details?: { cached_tokens: number };
  completion_tokens_details?: { reasoning_tokens: number };
}

interface StubToolCall {
  id?: string;
  name: string;
  /** The pieces of the arguments' JSON text, one chunk each. */
  arguments: string[];
}

export interface StubChat {
  kind: 'chat';
  /** The pieces of content, one chunk each. */
  pieces?: string[];
  reasoning?: string[];
  toolCalls?: StubToolCall[];
  functionCall?: { name: string; arguments: string[] };
  finish?: string | null;
  usage?: StubUsage | null;
  /** False leaves out `[DONE]`. */
  done?: boolean;
}

/** How one request is answered. */
export type StubBehaviour =
  | StubChat
  /** The chat, in network pieces of this many bytes, with this line ending. */
  | { kind: 'split'; chat: StubChat; bytes: number; lineEnd?: '\n' | '\r\n' }
  /** The chat's stream up to so many content pieces; then nothing, a reset, or a clean end. */
  | { kind: 'broken'; chat: StubChat; after: number; ending: 'stall' | 'reset' | 'end' }
  /** A piece of content every few milliseconds, without end. */
  | { kind: 'endless'; everyMs: number }
  /** No answer at all, with the connection open or reset. */
  | { kind: 'silence' }
  | { kind: 'hang-up' }
  | {
      kind: 'error';
      status: number;
      code?: string | null;
      type?: string;
      message?: string;
      headers?: Record<string, string>;
    }
  | { kind: 'images'; images: { b64_json?: string; url?: string; revised_prompt?: string }[] }
  /** Any bytes, as given and when given. */
  | {
      kind: 'raw';
      status?: number;
      headers?: Record<string, string>;
      chunks: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
    };

interface StubRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  /** The parsed JSON body, or a FormData; null without one. */
  body: unknown;
  /** Ends when the answer has been sent or the client has gone. */
  closed: Promise<void>;
  /** A number for each TCP connection, from 1. */
  connection: number;
}

/** An OpenAI-compatible upstream on loopback that answers as it is told and remembers what it was asked. */
export interface StubUpstream {
  /** With `/v1`. */
  baseUrl: string;
  requests: StubRequest[];
  /** Ends when the list of models is asked for, which is not among the requests. */
  listed: Promise<void>;
  /** Answers the next requests so, one each, before the default. */
  script(...behaviours: StubBehaviour[]): void;
  /** Answers all other requests so; at first a short chat. */
  setDefault(behaviour: StubBehaviour): void;
  /** Serves bytes at `{origin}{path}`, for image URLs. */
  serveFile(path: string, file: { bytes: Uint8Array; contentType: string }): string;
  /** The next request to arrive, or one that has arrived and was not waited for. */
  nextRequest(): Promise<StubRequest>;
  close(): Promise<void>;
}

export const shortChat: StubChat = {
  kind: 'chat',
  pieces: ['Hello', ' world'],
  usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
};

/** A refusal by OpenAI's content policy. */
export const contentPolicyRefusal: StubBehaviour = {
  kind: 'error',
  status: 400,
  code: 'content_policy_violation',
  type: 'invalid_request_error',
  message:
    'Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_123.',
};

const models = {
  object: 'list',
  data: [{ id: 'stub-model', object: 'model', created: 1_700_000_000, owned_by: 'stub' }],
};

export const startStubUpstream = async (): Promise<StubUpstream> => {
  const requests: StubRequest[] = [];
  const scripted: StubBehaviour[] = [];
  const files = new Map<string, { bytes: Uint8Array; contentType: string }>();
  const arrivals: StubRequest[] = [];
  const waiting: ((request: StubRequest) => void)[] = [];
  const connections = new WeakMap<object, number>();
  let connectionCount = 0;
  let usual: StubBehaviour = shortChat;
  const { promise: listed, resolve: noteList } = Promise.withResolvers<void>();

  const arrived = (request: StubRequest): void => {
    requests.push(request);
    const waiter = waiting.shift();
    if (waiter === undefined) arrivals.push(request);
    else waiter(request);
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(incoming.url ?? '/', 'http://stub');
    // A gateway asks for it at its start.
    if (pathname === '/v1/models') {
      noteList();
      return sendJson(response, 200, models);
    }
    const body = await readBody(incoming);
    const closed = new Promise<void>((resolve) => response.once('close', () => resolve()));
    arrived({
      method: incoming.method ?? '',
      path: pathname,
      headers: incoming.headers,
      body,
      closed,
      connection: connections.get(incoming.socket) ?? 0,
    });
    const file = files.get(pathname);
    if (file !== undefined) {
      response.writeHead(200, { 'content-type': file.contentType }).end(file.bytes);
    } else {
      await behave(scripted.shift() ?? usual, response, { wantsStream: isStreaming(body), closed });
    }
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  server.on('connection', (socket) => {
    connectionCount += 1;
    connections.set(socket, connectionCount);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${portOf(server.address())}`;

  return {
    baseUrl: `${origin}/v1`,
    requests,
    listed,
    script: (...behaviours) => void scripted.push(...behaviours),
    setDefault: (behaviour) => {
      usual = behaviour;
    },
    serveFile: (path, file) => {
      files.set(path, file);
      return `${origin}${path}`;
    },
    nextRequest: () => {
      const request = arrivals.shift();
      return request === undefined
        ? new Promise((resolve) => waiting.push(resolve))
        : Promise.resolve(request);
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const portOf = (address: AddressInfo | string | null): number =>
  address !== null && typeof address === 'object' ? address.port : 0;

const readBody = async (incoming: IncomingMessage): Promise<unknown> => {
  const bytes = await buffer(incoming);
  const contentType = incoming.headers['content-type'] ?? '';
  if (contentType.startsWith('multipart/form-data'))
    return new Response(bytes, { headers: { 'content-type': contentType } }).formData();
  const text = bytes.toString('utf8');
  return text === '' ? null : JSON.parse(text);
};

const isStreaming = (body: unknown): boolean =>
  body !== null && typeof body === 'object' && 'stream' in body && body.stream === true;

const sendJson = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

interface Occasion {
  wantsStream: boolean;
  closed: Promise<void>;
}

const behave = async (
  behaviour: StubBehaviour,
  response: ServerResponse,
  { wantsStream, closed }: Occasion,
): Promise<void> => {
  switch (behaviour.kind) {
    case 'chat':
      if (wantsStream) await sendStream(response, [chatStream(behaviour)]);
      else sendJson(response, 200, chatCompletion(behaviour));
      return;
    case 'split':
      await sendStream(response, cut(chatStream(behaviour.chat, behaviour.lineEnd), behaviour.bytes));
      return;
    case 'broken':
      await sendBroken(response, behaviour);
      return;
    case 'endless':
      await sendEndless(response, behaviour.everyMs, closed);
      return;
    case 'silence':
      return;
    case 'hang-up':
      response.socket?.resetAndDestroy();
      return;
    case 'error': {
      const {
        status,
        code = null,
        type = 'invalid_request_error',
        message = 'stub error',
        headers,
      } = behaviour;
      sendJson(response, status, { error: { message, type, param: null, code } }, headers);
      return;
    }
    case 'images':
      sendJson(response, 200, { created: 1_700_000_000, data: behaviour.images });
      return;
    case 'raw':
      response.writeHead(behaviour.status ?? 200, behaviour.headers ?? eventStream);
      for await (const chunk of behaviour.chunks) await write(response, chunk);
      response.end();
  }
};

const eventStream = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

const sendStream = async (response: ServerResponse, chunks: (string | Uint8Array)[]): Promise<void> => {
  response.writeHead(200, eventStream);
  for (const chunk of chunks) await write(response, chunk);
  response.end();
};

const sendBroken = async (
  response: ServerResponse,
  { chat, after, ending }: StubBehaviour & { kind: 'broken' },
): Promise<void> => {
  response.writeHead(200, eventStream);
  response.flushHeaders();
  for (const piece of (chat.pieces ?? []).slice(0, after))
    await write(response, event(chunk({ content: piece })));
  if (ending === 'end') response.end();
  else if (ending === 'reset') response.socket?.resetAndDestroy();
};

const sendEndless = async (
  response: ServerResponse,
  everyMs: number,
  closed: Promise<void>,
): Promise<void> => {
  response.writeHead(200, eventStream);
  const timer = setInterval(() => response.write(event(chunk({ content: 'and ' }))), everyMs);
  await closed;
  clearInterval(timer);
};

/** Writes one network piece and lets it leave before the next. */
const write = async (response: ServerResponse, chunk: string | Uint8Array): Promise<void> => {
  response.write(chunk);
  await nextTurn();
};

const cut = (text: string, length: number): Uint8Array[] => {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  );
};

const head = {
  id: 'chatcmpl-stub',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'stub-model',
};

const chunk = (delta: object, finish: string | null = null): object => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
});

const event = (data: object, lineEnd = '\n'): string => `data: ${JSON.stringify(data)}${lineEnd}${lineEnd}`;

/** The bytes of a streamed chat completion, as OpenAI sends them. */
export const chatStream = (chat: StubChat, lineEnd: '\n' | '\r\n' = '\n'): string => {
  const calls = (chat.toolCalls ?? []).flatMap((call, index) => [
    {
      index,
      ...(call.id === undefined ? {} : { id: call.id }),
      type: 'function',
      function: { name: call.name, arguments: '' },
    },
    ...call.arguments.map((piece) => ({ index, function: { arguments: piece } })),
  ]);
  const legacy = chat.functionCall;
  const deltas: object[] = [
    { role: 'assistant', content: '' },
    ...(chat.reasoning ?? []).map((piece) => ({ reasoning_content: piece })),
    ...(chat.pieces ?? []).map((piece) => ({ content: piece })),
    ...calls.map((call) => ({ tool_calls: [call] })),
    ...(legacy === undefined ? [] : [{ function_call: { name: legacy.name, arguments: '' } }]),
    ...(legacy?.arguments ?? []).map((piece) => ({ function_call: { arguments: piece } })),
  ];
  return [
    ...deltas.map((delta) => event(chunk(delta), lineEnd)),
    ...(chat.finish === null ? [] : [event(chunk({}, chat.finish ?? usualFinish(chat)), lineEnd)]),
    ...(chat.usage === null
      ? []
      : [event({ ...head, choices: [], usage: chat.usage ?? usualUsage }, lineEnd)]),
    ...(chat.done === false ? [] : [`data: [DONE]${lineEnd}${lineEnd}`]),
  ].join('');
};

const usualUsage: StubUsage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };

const usualFinish = (chat: StubChat): string => {
  if (chat.functionCall !== undefined) return 'function_call';
  return chat.toolCalls === undefined ? 'stop' : 'tool_calls';
};

const chatCompletion = (chat: StubChat): object => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: chat.pieces?.join('') ?? null,
        reasoning_content: chat.reasoning?.join(''),
        function_call: chat.functionCall && {
          name: chat.functionCall.name,
          arguments: chat.functionCall.arguments.join(''),
        },
        tool_calls: chat.toolCalls?.map((call) => ({
          id: call.id ?? 'call_stub',
          type: 'function',
          function: { name: call.name, arguments: call.arguments.join('') },
        })),
      },
      finish_reason: chat.finish === undefined ? usualFinish(chat) : chat.finish,
      logprobs: null,
    },
  ],
  ...(chat.usage === null ? {} : { usage: chat.usage ?? usualUsage }),
});
