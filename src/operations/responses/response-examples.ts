import type { Job } from '../../store/store.ts';
import { streamStored } from '../chat/answer-text-job.ts';
import { exampleUsage, weatherParameters } from '../chat/chat-examples.ts';
import type { DocsExamples } from '../define-operation.ts';
import { asJson, responseId, toFinishedResponse, toShownRequest } from './response-object.ts';
import { createResponseOutput } from './response-output.ts';
import { createResponseStream } from './response-stream.ts';

const model = 'textmodel-3.5-flash';
const question = {
  model,
  input: 'What does a causeway do?',
  instructions: 'Answer in one sentence.',
  max_output_tokens: 1000,
  metadata: { ticket: '7301' },
};
const job = { id: 'c0ffee00-1b2c-4d3e-8f4a-5b6c7d8e9f00', createdAt: 1_795_253_400_000, model };

const output = createResponseOutput(job.id);
output.add({ type: 'content', text: 'A causeway crosses water.' });
output.end('completed');
const response = asJson(
  toFinishedResponse(job, toShownRequest(question, question.max_output_tokens), {
    output: output.items(),
    usage: exampleUsage,
    incomplete: null,
    now: job.createdAt + 2_000,
  }),
);

const ended = { ...job, status: 'done', result: JSON.stringify(response) } as Job;
const responseStream = streamStored(createResponseStream(job.id), ended)
  .map(({ event, data }) => `event: ${event}\ndata: ${data}\n\n`)
  .join('');

export const createResponseExamples: DocsExamples = [
  { summary: 'A question', body: question, answer: response },
  {
    summary: 'A function call and its output, sent back with the whole conversation',
    body: {
      model,
      input: [
        { role: 'user', content: 'What is the weather in Lisbon?' },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Lisbon"}' },
        { type: 'function_call_output', call_id: 'call_1', output: '{"sky":"clear","celsius":19}' },
      ],
      tools: [{ type: 'function', name: 'get_weather', parameters: weatherParameters, strict: false }],
    },
    answer: response,
  },
  {
    summary: 'A stream',
    body: { ...question, stream: true },
    answer: null,
    stream: responseStream,
  },
];

export const getResponseExamples: DocsExamples = [
  {
    summary: 'A completed response',
    parameters: { response_id: responseId(job.id) },
    answer: response,
  },
];
