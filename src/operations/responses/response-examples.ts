import type { JsonObject } from '../../kit/json.ts';
import type { OperationDocs } from '../operation-docs.ts';
import { weatherParameters } from '../chat/chat-examples.ts';

const responseJobId = 'c0ffee00-1b2c-4d3e-8f4a-5b6c7d8e9f00';

const text = 'A causeway crosses water.';
const textPart: JsonObject = { type: 'output_text', text, annotations: [], logprobs: [] };
const messageItem: JsonObject = {
  id: `msg_${responseJobId}_0`,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [textPart],
};

const response: JsonObject = {
  id: `resp_${responseJobId}`,
  object: 'response',
  created_at: 1_795_253_400,
  completed_at: 1_795_253_402,
  status: 'completed',
  access_programs: null,
  background: false,
  conversation: null,
  error: null,
  incomplete_details: null,
  instructions: 'Answer in one sentence.',
  max_output_tokens: 1000,
  max_tool_calls: null,
  metadata: { ticket: '7301' },
  model: 'textmodel-3.5-flash',
  output: [messageItem],
  output_text: text,
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: {
    input_tokens: 14,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 6,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 20,
  },
  user: null,
};

const startedResponse: JsonObject = {
  ...response,
  completed_at: null,
  status: 'in_progress',
  output: [],
  output_text: '',
  usage: null,
};
const textPlace: JsonObject = { output_index: 0, content_index: 0, item_id: `msg_${responseJobId}_0` };

const responseStream = (
  [
    ['response.created', { response: startedResponse }],
    ['response.in_progress', { response: startedResponse }],
    [
      'response.output_item.added',
      { output_index: 0, item: { ...messageItem, status: 'in_progress', content: [] } },
    ],
    ['response.content_part.added', { ...textPlace, part: { ...textPart, text: '' } }],
    ['response.output_text.delta', { ...textPlace, delta: text, logprobs: [] }],
    ['response.output_text.done', { ...textPlace, text, logprobs: [] }],
    ['response.content_part.done', { ...textPlace, part: textPart }],
    ['response.output_item.done', { output_index: 0, item: messageItem }],
    ['response.completed', { response }],
  ] as const
)
  .map(
    ([type, rest], index) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, ...rest })}\n\n`,
  )
  .join('');

const question: JsonObject = { model: 'textmodel-3.5-flash', input: 'What does a causeway do?' };

export const createResponseExamples: OperationDocs['examples'] = [
  {
    summary: 'A question',
    body: {
      ...question,
      instructions: 'Answer in one sentence.',
      max_output_tokens: 1000,
      metadata: { ticket: '7301' },
    },
    status: 200,
    answer: response,
  },
  {
    summary: 'A function call and its output, sent back with the whole conversation',
    body: {
      model: 'textmodel-3.5-flash',
      input: [
        { role: 'user', content: 'What is the weather in Lisbon?' },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Lisbon"}' },
        { type: 'function_call_output', call_id: 'call_1', output: '{"sky":"clear","celsius":19}' },
      ],
      tools: [{ type: 'function', name: 'get_weather', parameters: weatherParameters, strict: false }],
    },
    status: 200,
    answer: response,
  },
  {
    summary: 'A stream',
    body: { ...question, stream: true },
    status: 200,
    answer: null,
    stream: responseStream,
  },
];

export const getResponseExamples: OperationDocs['examples'] = [
  {
    summary: 'A completed response',
    parameters: { response_id: `resp_${responseJobId}` },
    status: 200,
    answer: response,
  },
];
