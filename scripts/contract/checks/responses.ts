import { expectEqual, expectError, expectHeader, expectJson, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import {
  asyncImage,
  chatSku,
  endOfResponse,
  noSku,
  noUuid,
  pngUri,
  postResponse,
  response,
  responseBody,
} from '../fixtures.ts';
import {
  count,
  exactly,
  expectShape,
  filledText,
  flag,
  integer,
  listOf,
  members,
  nothing,
  oneOf,
  orNull,
  record,
  responseId,
  text,
  anything,
  type JsonRecord,
} from '../shapes.ts';
import type { Suite } from '../suite.ts';
import { parseData, readEvents } from './server-sent-events.ts';
import { expectTooDear, expectWellFormed } from './refusals.ts';

const path = '/v1/responses';
const bare = (more: JsonRecord): JsonRecord => ({ model: noSku, input: 'Name one colour.', ...more });
const fn = {
  type: 'function',
  name: 'pick_colour',
  parameters: { type: 'object', properties: {} },
  strict: false,
};
const user = (content: unknown): JsonRecord => ({ role: 'user', content });

const responseShape = members({
  id: responseId,
  object: exactly('response'),
  created_at: integer,
  status: oneOf('completed', 'incomplete', 'in_progress', 'failed'),
  error: orNull(record),
  incomplete_details: orNull(record),
  instructions: anything,
  metadata: orNull(record),
  model: filledText,
  output: listOf(members({ type: filledText })),
  parallel_tool_calls: flag,
  temperature: anything,
  tool_choice: anything,
  tools: listOf(record),
  top_p: anything,
  store: exactly(false),
  previous_response_id: nothing,
});

const usageShape = members({
  input_tokens: count,
  input_tokens_details: members({ cached_tokens: count }),
  output_tokens: count,
  output_tokens_details: members({ reasoning_tokens: count }),
  total_tokens: count,
});

const messageItem = members({
  id: filledText,
  type: exactly('message'),
  role: exactly('assistant'),
  status: filledText,
  content: listOf(members({ type: exactly('output_text'), text, annotations: listOf(anything) }), 1),
});

const textOf = (body: JsonRecord): string =>
  (body['output'] as { type: string; content?: { text?: string }[] }[])
    .flatMap(({ content }) => content?.map((part) => part.text ?? '') ?? [])
    .join('');

const rejected = (body: JsonRecord, param: string) => ({ body: bare(body), param });

const expectRejected = async (
  suite: Suite,
  refusals: readonly { body: JsonRecord; param: string }[],
): Promise<void> => {
  for (const { body, param } of refusals)
    expectError(await suite.call(path, { body }), {
      status: 400,
      code: ['unknown_parameter', 'invalid_value'],
      type: 'invalid_request_error',
      param,
    });
};

interface StreamEvent {
  type: string;
  sequence_number: number;
  delta?: string;
  response?: JsonRecord;
}

const responseStream = (suite: Suite) =>
  suite.once('response stream', async () => {
    const answer = await postResponse(suite, { body: responseBody(suite, { stream: true }) });
    const sent = readEvents(answer);
    return { answer, sent, events: sent.map((event) => parseData(event) as StreamEvent) };
  });

export const responseChecks: readonly Check[] = [
  {
    id: 'RSP-1',
    title: 'a response has the documented form and is not stored',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await response(suite);
      expectShape(body, responseShape, 'the response');
      expectShape(body, members({ status: exactly('completed'), usage: usageShape }), 'the response');
      expectShape(
        (body['output'] as JsonRecord[]).find(({ type }) => type === 'message'),
        messageItem,
        'its message',
      );
      expectEqual(body['model'], chatSku(suite).id, 'model');
    },
  },
  {
    id: 'RSP-2',
    title: 'X-Response-Id names the response, and GET returns the same one',
    needs: ['chat'],
    run: async (suite) => {
      const { answer, body } = await response(suite);
      expectHeader(answer, 'x-response-id', String(body['id']));
      const read = expectJson(await suite.call(`${path}/${String(body['id'])}`), 200);
      expectEqual(read, body, 'the response read again');
    },
  },
  {
    id: 'RSP-3',
    title: 'instructions, metadata and the output limit are echoed',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await response(suite);
      expectEqual(body['instructions'], 'Answer in one word.', 'instructions');
      expectEqual(body['metadata'], { ticket: '7301' }, 'metadata');
      expectEqual(body['max_output_tokens'], 64, 'max_output_tokens');
    },
  },
  {
    id: 'RSP-4',
    title: 'input is a text, or messages, function calls and their outputs; replayed reasoning is ignored',
    run: async (suite) => {
      const items = [
        { role: 'developer', content: 'Be short.' },
        { type: 'message', ...user([{ type: 'input_text', text: 'Weather?' }]) },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          status: 'completed',
          content: [
            {
              type: 'output_text',
              text: 'Sunny.',
              annotations: [
                {
                  type: 'url_citation',
                  url: 'https://example.com',
                  title: 'x',
                  start_index: 0,
                  end_index: 1,
                },
              ],
            },
          ],
        },
        user('And tomorrow?'),
      ];
      await expectWellFormed(suite, path, [bare({}), bare({ input: items, tools: [fn] })]);
      const refused = await suite.call(path, { body: { model: noSku } });
      expectError(refused, { status: 422, hasDetail: true, param: 'input' });
    },
  },
  {
    id: 'RSP-5',
    title: 'item_reference names an output item of an earlier response',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await response(suite);
      const item = (body['output'] as JsonRecord[]).find(({ type }) => type === 'message');
      const input = [
        user('Name one colour.'),
        { type: 'item_reference', id: item?.['id'] },
        user('Another?'),
      ];
      expectJson(await postResponse(suite, { body: responseBody(suite, { input }) }), 200);
      const unknown = [{ type: 'item_reference', id: `msg_${noUuid}` }, user('Another?')];
      expectError(await suite.call(path, { body: responseBody(suite, { input: unknown }) }), {
        status: 400,
        code: 'invalid_value',
        param: 'input',
      });
    },
  },
  {
    id: 'RSP-6',
    title: 'hosted, custom and grammar tools are 400',
    run: (suite) =>
      expectRejected(
        suite,
        [
          { type: 'web_search' },
          { type: 'file_search', vector_store_ids: ['x'] },
          { type: 'code_interpreter', container: { type: 'auto' } },
          { type: 'mcp', server_label: 'x', server_url: 'https://example.com' },
          { type: 'custom', name: 'x' },
          {
            type: 'custom',
            name: 'x',
            format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
          },
        ].map((tool) => rejected({ tools: [tool] }, 'tools')),
      ),
  },
  {
    id: 'RSP-7',
    title: 'image, file and audio input parts are 400',
    run: (suite) =>
      expectRejected(
        suite,
        [
          { type: 'input_image', image_url: pngUri, detail: 'auto' },
          { type: 'input_file', file_data: 'data:application/pdf;base64,QUJD', filename: 'a.pdf' },
          { type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } },
        ].map((part) => rejected({ input: [user([part])] }, 'input')),
      ),
  },
  {
    id: 'RSP-8',
    title: 'unsupported fields are 400 and named',
    run: (suite) =>
      expectRejected(suite, [
        rejected({ previous_response_id: `resp_${noUuid}` }, 'previous_response_id'),
        rejected({ conversation: 'conv_1' }, 'conversation'),
        rejected({ store: true }, 'store'),
        rejected({ background: true }, 'background'),
        rejected({ prompt: { id: 'pmpt_1' } }, 'prompt'),
        rejected({ top_logprobs: 2 }, 'top_logprobs'),
        rejected({ max_tool_calls: 2 }, 'max_tool_calls'),
      ]),
  },
  {
    id: 'RSP-9',
    title: 'supported, ignored and unknown fields are accepted',
    run: (suite) =>
      expectWellFormed(suite, path, [
        bare({
          instructions: 'Be short.',
          tools: [fn],
          tool_choice: { type: 'function', name: 'pick_colour' },
          parallel_tool_calls: false,
          temperature: 0.5,
          top_p: 0.9,
          max_output_tokens: 65_536,
          metadata: { a: 'b' },
          stream: false,
          store: false,
        }),
        bare({
          user: 'u',
          safety_identifier: 's',
          prompt_cache_key: 'k',
          service_tier: 'auto',
          stream_options: { include_obfuscation: false },
          include: ['reasoning.encrypted_content'],
          reasoning: { effort: 'low' },
          truncation: 'auto',
          x_unknown: { a: 1 },
        }),
        bare({ previous_response_id: null, conversation: null, background: null, prompt: null }),
        ...[
          { type: 'text' },
          { type: 'json_object' },
          { type: 'json_schema', name: 'colour', schema: { type: 'object', properties: {} } },
        ].map((format) => bare({ text: { format } })),
      ]),
  },
  {
    id: 'RSP-10',
    title: 'max_output_tokens above 65536 is refused',
    run: async (suite) => {
      for (const limit of [65_537, 0])
        expectError(await suite.call(path, { body: bare({ max_output_tokens: limit }) }), {
          status: [400, 422],
          param: 'max_output_tokens',
          hasDetail: (await suite.call(path, { body: bare({ max_output_tokens: limit }) })).status === 422,
        });
    },
  },
  {
    id: 'RSP-11',
    title: 'text.format json_schema returns JSON of that schema',
    needs: ['chat'],
    run: async (suite) => {
      const schema = {
        type: 'object',
        properties: { colour: { type: 'string' } },
        required: ['colour'],
        additionalProperties: false,
      };
      const body = responseBody(suite, {
        text: { format: { type: 'json_schema', name: 'colour', schema, strict: true } },
      });
      const answer = expectJson(await postResponse(suite, { body }), 200);
      const said = parseData({ event: null, data: textOf(answer) });
      expectShape(said, members({ colour: text }, { only: true }), 'the output text');
    },
  },
  {
    id: 'RSP-12',
    title: 'a function call is an output item that can be sent back with its output',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const body = responseBody(suite, { tools: [fn], tool_choice: 'required' });
      const first = expectJson(await postResponse(suite, { body }), 200);
      const call = (first['output'] as JsonRecord[]).find(({ type }) => type === 'function_call');
      expectShape(
        call,
        members({
          id: filledText,
          call_id: filledText,
          name: exactly('pick_colour'),
          arguments: text,
          status: filledText,
        }),
        'the function call',
      );
      const input = [
        user('Name one colour.'),
        call,
        { type: 'function_call_output', call_id: call?.['call_id'], output: 'blue' },
      ];
      expectJson(await postResponse(suite, { body: { ...body, input, tool_choice: 'auto' } }), 200);
    },
  },
  {
    id: 'RSP-13',
    title: 'a stream is named events with sequence numbers from 0, from created to completed',
    needs: ['chat'],
    run: async (suite) => {
      const { answer, sent, events } = await responseStream(suite);
      expectEqual(
        sent.map(({ event }) => event),
        events.map(({ type }) => type),
        'the names of the events',
      );
      expectEqual(
        events.map(({ sequence_number: number }) => number),
        events.map((_event, index) => index),
        'the sequence numbers',
      );
      const types = events.map(({ type }) => type);
      expectEqual(types.slice(0, 2), ['response.created', 'response.in_progress'], 'the first events');
      expectEqual(types.at(-1), 'response.completed', 'the last event');
      const order = [
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
      ].map((type) => types.indexOf(type));
      expectThat(
        order.every((place, index) => place > (order[index - 1] ?? 1)),
        `the order of the events is ${types.join(', ')}`,
      );
      expectHeader(answer, 'x-response-id', String(events[0]?.response?.['id']));
    },
  },
  {
    id: 'RSP-14',
    title: 'the text deltas have their documented fields and make up the final text',
    needs: ['chat'],
    run: async (suite) => {
      const { events } = await responseStream(suite);
      const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
      for (const delta of deltas)
        expectShape(
          delta,
          members({
            sequence_number: count,
            output_index: count,
            content_index: count,
            item_id: filledText,
            delta: text,
            logprobs: listOf(anything),
          }),
          'a delta',
        );
      const final = events.at(-1)?.response ?? {};
      expectShape(final, responseShape, 'the final response');
      expectEqual(deltas.map(({ delta }) => delta).join(''), textOf(final), 'the streamed text');
      const read = expectJson(await suite.call(`${path}/${String(final['id'])}`), 200);
      expectEqual(read, final, 'the response read again');
    },
  },
  {
    id: 'RSP-15',
    title: 'a response cut at the output limit is incomplete, as JSON and as a stream',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const body = responseBody(suite, { input: '[sandbox:truncate]' });
      expectShape(
        expectJson(await postResponse(suite, { body }), 200),
        members({
          status: exactly('incomplete'),
          incomplete_details: members({ reason: exactly('max_output_tokens') }),
        }),
        'the response',
      );
      const events = readEvents(await postResponse(suite, { body: { ...body, stream: true } }));
      expectEqual(events.at(-1)?.event, 'response.incomplete', 'the last event');
    },
  },
  {
    id: 'RSP-16',
    title: 'a response that failed is 502, and can be read as failed',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const answer = await suite.call(path, { body: responseBody(suite, { input: '[sandbox:fail]' }) });
      expectError(answer, { status: 502, type: 'server_error' });
      const id = expectHeader(answer, 'x-response-id', /^resp_/);
      expectEqual((await endOfResponse(suite, id))['status'], 'failed', 'its status');
    },
  },
  {
    id: 'RSP-17',
    title: 'after the deadline 408 names the response, which is in progress and then completed',
    needs: ['chat', 'sandbox', 'deadline'],
    run: async (suite) => {
      const seconds = (suite.settings.deadlineSeconds ?? 0) + 2;
      const body = responseBody(suite, { input: `Name one colour. [sandbox:slow=${seconds}]` });
      const answer = await postResponse(suite, { body });
      expectError(answer, { status: 408 });
      expectHeader(answer, 'x-should-retry', 'false');
      const id = expectHeader(answer, 'x-response-id', /^resp_/);
      const now = expectJson(await suite.call(`${path}/${id}`), 200);
      expectShape(now, responseShape, 'the response in progress');
      expectEqual(now['status'], 'in_progress', 'its status');
      expectEqual((await endOfResponse(suite, id))['status'], 'completed', 'its end');
    },
  },
  {
    id: 'RSP-18',
    title:
      'an unknown response id is 404, also the id of another kind of job; a malformed id is 422 with detail',
    needs: ['image'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      for (const id of [`resp_${noUuid}`, `resp_${String(job['id'])}`])
        expectError(await suite.call(`${path}/${id}`), { status: 404, code: 'response_not_found' });
      for (const id of [noUuid, 'nonsense'])
        expectError(await suite.call(`${path}/${id}`), {
          status: 422,
          code: 'invalid_parameter',
          param: 'response_id',
          hasDetail: true,
        });
    },
  },
  {
    id: 'RSP-19',
    title: "another account's response is 404",
    needs: ['chat', 'other_key'],
    run: async (suite) => {
      const { body } = await response(suite);
      const answer = await suite.call(`${path}/${String(body['id'])}`, { key: suite.settings.otherKey });
      expectError(answer, { status: 404, code: 'response_not_found' });
    },
  },
  {
    id: 'RSP-20',
    title: 'a request above the largest prompt is 400 input_too_large',
    run: async (suite) => {
      const answer = await suite.call(path, { body: bare({ input: 'word '.repeat(1_000_000) }) });
      expectError(answer, { status: 400, code: 'input_too_large' });
    },
  },
  {
    id: 'RSP-21',
    title: 'a balance that is too low is 402',
    needs: ['chat', 'poor_key'],
    run: (suite) => expectTooDear(suite, path, responseBody(suite)),
  },
];
