import type { JobEvent } from '../../jobs/executor.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { FinishReason } from '../../providers/text/text-provider.ts';
import type { Job } from '../../store/store.ts';
import type { DocsExamples } from '../define-operation.ts';
import { createChatStream } from './chat-stream.ts';
import { createChatAnswer, toCompletion } from './run-chat.ts';

export const chatJobId = '2b6f0a0e-5d0c-4b51-8f5e-1f2f3a4b5c6d';
export const exampleUsage = { promptTokens: 14, completionTokens: 6, cachedTokens: 0, reasoningTokens: 0 };
const job = { id: chatJobId, createdAt: 1_795_253_400_000, model: 'textmodel-3.5-flash' };

const completion = (pieces: readonly JobEvent[], finishReason: FinishReason): JsonObject => {
  const answer = createChatAnswer({ isLegacyCall: false });
  for (const piece of pieces) answer.add(piece);
  const end = { finishReason, usage: exampleUsage, isSandbox: false, conversationId: null };
  return toCompletion(job, answer, end);
};

const pieces: JobEvent[] = [
  { type: 'content', text: 'A causeway ' },
  { type: 'content', text: 'crosses water.' },
];
const toolCall: JobEvent = {
  type: 'tool_call',
  index: 0,
  id: 'call_1',
  name: 'get_weather',
  arguments: '{"city":"Lisbon"}',
};

export const completionExample = completion(pieces, 'stop');

export const weatherParameters: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
};

const stream = createChatStream(job, { isLegacyCall: false });
const ended = { status: 'done', result: JSON.stringify(completionExample) } as Job;
const chatStream = [...stream.begin(ended), ...pieces.flatMap(stream.add), ...stream.end(ended)]
  .map(({ data }) => `data: ${data}\n\n`)
  .join('');

const question: JsonObject = {
  model: 'textmodel-3.5-flash',
  messages: [{ role: 'user', content: 'What does a causeway do? One sentence.' }],
};

export const createChatCompletionExamples: DocsExamples = [
  { summary: 'A question', body: { ...question, max_tokens: 200 }, answer: completionExample },
  {
    summary: 'A function call',
    body: {
      model: 'textmodel-3.5-flash',
      messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Weather of a city now',
            parameters: weatherParameters,
          },
        },
      ],
    },
    answer: completion([toolCall], 'tool_calls'),
  },
  { summary: 'A stream', body: { ...question, stream: true }, answer: null, stream: chatStream },
];
