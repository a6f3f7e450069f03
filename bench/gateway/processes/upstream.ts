import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { chunksOfStream, paceMs, tokensOfAnswer, tokensOfPrompt } from '../workload.ts';

/*
 * An upstream with the wire of OpenAI. The model decides how it answers: `at-once` has the whole answer ready, `stream`
 * writes a chunk in each turn of its loop, `paced` one every few milliseconds, and `held` stops after the first word.
 */
const usage = (output: number) => ({
  prompt_tokens: tokensOfPrompt,
  completion_tokens: output,
  total_tokens: tokensOfPrompt + output,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
});
const head = { id: 'chatcmpl-bench', created: 1_790_000_000, model: 'bench', system_fingerprint: 'fp_bench' };
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish: string | null = null): string =>
  event({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });

const words = (count: number): string[] => Array.from({ length: count }, (_, place) => ` word${place % 10}`);

const completion = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: words(tokensOfAnswer).join(''), refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: usage(tokensOfAnswer),
});

const chatFrames = (count: number): string[] => [
  chunk({ role: 'assistant', content: '', refusal: null }),
  ...words(count).map((content) => chunk({ content })),
  chunk({}, 'stop') +
    event({ ...head, object: 'chat.completion.chunk', choices: [], usage: usage(count) }) +
    'data: [DONE]\n\n',
];

const atOnce = [chatFrames(tokensOfAnswer).join('')];
const streamed = chatFrames(chunksOfStream);

const writeStream = async (response: ServerResponse, model: string, frames: string[]): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const [place, frame] of frames.entries()) {
    if (response.destroyed || (model === 'held' && place > 1)) return;
    response.write(frame);
    await (model === 'paced' ? delay(paceMs) : nextTurn());
  }
  response.end();
};

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
    return;
  }
  const { model, stream } = (await json(request)) as { model: string; stream?: boolean };
  if (stream !== true) {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(completion) };
    response.writeHead(200, headers).end(completion);
  } else await writeStream(response, model, model === 'at-once' ? atOnce : streamed);
};

const server = createServer((request, response) => void answer(request, response));
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1');
process.on('message', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
