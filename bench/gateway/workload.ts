import type { Expected, LoadRequest } from './load.ts';

/* Both sides of the upstream's wire: what is asked, and what it answers. */
export const tokensOfPrompt = 24;
export const tokensOfAnswer = 97;
export const chunksOfStream = 100;
export const paceMs = 10;

export interface Work {
  name: string;
  section: 'chat' | 'responses' | 'mcp' | 'rest';
  limit: 'proxy' | 'handler';
  /** The most processor time, in multiples of the limit's. */
  maxRatio: number;
  /** What one answer is divided into: 1, or the chunks of a stream. */
  parts: number;
  connections: readonly number[];
  request: LoadRequest;
  expected: Expected;
  /** What the proxy is asked, if not the same. */
  limitRequest?: LoadRequest;
  /** A burst ends after so many answers on each connection, rather than by time. */
  answersEach?: number;
  /** A goal for the slowest answers. */
  judgesTail?: boolean;
  /** The output tokens that each answer is charged for. */
  chargedTokens?: number;
}

const post = (path: string, body: object, headers: Record<string, string> = {}): LoadRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const ok = (text: string): Expected => ({ status: 200, text });

const usual = [16, 64];
const growing = [1, 4, 16, 64, 256];

const messages = [
  { role: 'system', content: 'You are a helpful assistant that answers in short sentences.' },
  { role: 'user', content: 'Which three things should I check before I hire an influencer?' },
];
export const chat = (model: string, stream: boolean): LoadRequest =>
  post('/v1/chat/completions', { model, messages, stream });

type StreamWork = Pick<Work, 'name' | 'request'> & Partial<Work>;
const stream = (section: 'chat' | 'responses', maxRatio: number, ending: string, work: StreamWork): Work => ({
  section,
  limit: 'proxy',
  maxRatio,
  parts: chunksOfStream,
  connections: usual,
  expected: ok(ending),
  chargedTokens: chunksOfStream,
  ...work,
});

const mcp = (maxRatio: number, text: string, [method, name, input]: [string, string?, object?]): Work => ({
  name: `MCP ${name ?? method}`,
  section: 'mcp',
  limit: 'handler',
  maxRatio,
  parts: 1,
  connections: name === 'get_balance' ? growing : usual,
  request: post(
    '/mcp',
    { jsonrpc: '2.0', id: 1, method, params: name === undefined ? {} : { name, arguments: input ?? {} } },
    { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
  ),
  expected: ok(text),
  judgesTail: name !== 'search_leads',
});

/** A GET request, which costs at most 2.5 times its limit. */
export const read = (path: string, expected: Expected): Work => ({
  name: path,
  section: 'rest',
  limit: 'handler',
  maxRatio: 2.5,
  parts: 1,
  connections: usual,
  request: { method: 'GET', path, headers: {} },
  expected,
});

export const works: readonly Work[] = [
  {
    name: 'chat JSON',
    section: 'chat',
    limit: 'proxy',
    maxRatio: 2,
    parts: 1,
    connections: growing,
    request: chat('at-once', false),
    expected: ok(`"completion_tokens":${tokensOfAnswer}`),
    chargedTokens: tokensOfAnswer,
  },
  stream('chat', 1.5, 'data: [DONE]', { name: 'chat SSE, one chunk', request: chat('stream', true) }),
  stream('chat', 1.5, 'data: [DONE]', {
    name: `chat SSE, one chunk every ${paceMs} ms`,
    request: chat('paced', true),
    // Fewer would cost the proxy too little to measure.
    connections: [64],
    answersEach: 2,
  }),
  stream('responses', 2.5, 'event: response.completed', {
    name: 'Responses SSE, one chunk',
    request: post('/v1/responses', { model: 'stream', input: messages, stream: true }),
    limitRequest: chat('stream', true),
  }),
  mcp(4, 'balance_usd', ['tools/call', 'get_balance']),
  mcp(4, 'at-once', ['tools/call', 'list_models']),
  mcp(2, 'search_leads', ['tools/list']),
  mcp(4, 'x402Version', ['tools/call', 'search_leads', { query: 'coffee' }]),
  { ...read('/v1/search?query=coffee', { status: 402, text: 'x402Version' }), name: 'HTTP 402' },
  read('/v1/models', ok('at-once')),
  read('/v1/balance', ok('balance_usd')),
];
