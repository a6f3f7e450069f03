import type { JsonObject } from '../../kit/json.ts';
import type { OperationDocs } from '../operation-docs.ts';

export const chatJobId = '2b6f0a0e-5d0c-4b51-8f5e-1f2f3a4b5c6d';

const chatUsage: JsonObject = {
  prompt_tokens: 14,
  completion_tokens: 6,
  total_tokens: 20,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: null },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: null,
    accepted_prediction_tokens: null,
    rejected_prediction_tokens: null,
  },
};

/** The members that a completion and the pieces of its stream begin with. */
const head = (object: string): JsonObject => ({
  id: `chatcmpl-${chatJobId}`,
  object,
  created: 1_795_253_400,
  model: 'textmodel-3.5-flash',
});

const completion = (message: JsonObject, finishReason: string): JsonObject => ({
  ...head('chat.completion'),
  choices: [
    { index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason, logprobs: null },
  ],
  usage: chatUsage,
  conversation_id: null,
});

export const completionExample = completion({ content: 'A causeway crosses water.', refusal: null }, 'stop');

const toolCall: JsonObject = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Lisbon"}' },
};

export const weatherParameters: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
};

const chunk = (rest: JsonObject): string =>
  `data: ${JSON.stringify({ ...head('chat.completion.chunk'), ...rest })}\n\n`;

const piece = (delta: JsonObject, finishReason: string | null = null): string =>
  chunk({ choices: [{ index: 0, delta, finish_reason: finishReason }] });

const chatStream = [
  piece({ role: 'assistant', content: '' }),
  piece({ content: 'A causeway ' }),
  piece({ content: 'crosses water.' }),
  piece({}, 'stop'),
  chunk({ choices: [], usage: chatUsage }),
  'data: [DONE]\n\n',
].join('');

const question: JsonObject = {
  model: 'textmodel-3.5-flash',
  messages: [{ role: 'user', content: 'What does a causeway do? One sentence.' }],
};

export const createChatCompletionExamples: OperationDocs['examples'] = [
  { summary: 'A question', body: { ...question, max_tokens: 200 }, status: 200, answer: completionExample },
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
    status: 200,
    answer: completion({ content: null, refusal: null, tool_calls: [toolCall] }, 'tool_calls'),
  },
  { summary: 'A stream', body: { ...question, stream: true }, status: 200, answer: null, stream: chatStream },
];
