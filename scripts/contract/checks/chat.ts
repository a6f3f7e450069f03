import { expectEqual, expectError, expectHeader, expectJson, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { chatBody, completion, endOfJob, noSku, pngUri, postChat } from '../fixtures.ts';
import {
  chatId,
  count,
  exactly,
  expectShape,
  filledText,
  integer,
  listOf,
  maybe,
  members,
  orNull,
  record,
  text,
  type JsonRecord,
} from '../shapes.ts';
import { fromNano, tokenCharge } from '../usd.ts';
import { expectRefusals, expectTooDear, expectWellFormed } from './refusals.ts';

const path = '/v1/chat/completions';
const invalid = {
  status: 422,
  code: 'invalid_parameter',
  type: 'invalid_request_error',
  hasDetail: true,
};
const messages = [{ role: 'user', content: 'Name one colour.' }];
const bare = (more: JsonRecord): JsonRecord => ({ model: noSku, messages, ...more });
const fn = {
  type: 'function',
  function: { name: 'pick_colour', parameters: { type: 'object', properties: {} } },
};

const detail = maybe(orNull(record));
export const chatUsage = members({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: maybe(
    orNull(members({ cached_tokens: maybe(orNull(count)), audio_tokens: maybe(orNull(count)) })),
  ),
  completion_tokens_details: maybe(
    orNull(
      members({
        reasoning_tokens: maybe(orNull(count)),
        audio_tokens: maybe(orNull(count)),
        accepted_prediction_tokens: maybe(orNull(count)),
        rejected_prediction_tokens: maybe(orNull(count)),
      }),
    ),
  ),
});

const completionShape = members({
  id: chatId,
  object: exactly('chat.completion'),
  created: integer,
  model: filledText,
  choices: listOf(
    members({
      index: count,
      message: members({
        role: exactly('assistant'),
        content: orNull(text),
        reasoning_content: maybe(orNull(text)),
        refusal: maybe(orNull(text)),
        tool_calls: maybe(orNull(listOf(record))),
        function_call: detail,
        audio: detail,
      }),
      finish_reason: orNull(text),
      logprobs: maybe(orNull(record)),
    }),
    1,
  ),
  usage: chatUsage,
  conversation_id: orNull(text),
});

/** Every best-effort field, as a client might send them all. */
const manyFields: JsonRecord = {
  n: 1,
  temperature: 0.5,
  top_p: 0.9,
  presence_penalty: 0.1,
  frequency_penalty: 0.1,
  stop: ['END'],
  logit_bias: { '50256': -100 },
  seed: 7,
  top_logprobs: 2,
  logprobs: true,
  parallel_tool_calls: false,
  store: true,
  response_format: { type: 'text' },
  stream_options: { include_usage: true },
  metadata: { a: 'b' },
  moderation: {},
  prediction: { type: 'content', content: 'Blue' },
  audio: { voice: 'alloy', format: 'wav' },
  web_search_options: {},
  prompt_cache_options: {},
  extra_body: { a: 1 },
  reasoning_effort: 'low',
  service_tier: 'auto',
  verbosity: 'low',
  prompt_cache_retention: '24h',
  user: 'customer-7',
  safety_identifier: 'customer-7',
  prompt_cache_key: 'k',
  modalities: ['text'],
  conversation_id: 'c-1',
};

const everyRole: JsonRecord[] = [
  { role: 'system', content: 'Be short.', name: 'house' },
  { role: 'developer', content: [{ type: 'text', text: 'Be kind.', prompt_cache_breakpoint: null }] },
  { role: 'user', content: 'Weather?', name: 'ada' },
  {
    role: 'assistant',
    content: null,
    refusal: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
  { role: 'function', name: 'get_weather', content: 'sunny' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'And this?' },
      { type: 'image_url', image_url: { url: pngUri, detail: 'low' } },
    ],
  },
];

export const chatChecks: readonly Check[] = [
  {
    id: 'CHAT-1',
    title: 'a completion has the documented fields',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await completion(suite);
      expectShape(body, completionShape, 'the completion');
      expectEqual(body['model'], suite.chat?.id, 'model');
    },
  },
  {
    id: 'CHAT-2',
    title: 'usage is present, and total_tokens is the sum of the other two',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await completion(suite);
      const usage = body['usage'] as Record<string, number>;
      expectEqual(
        usage['total_tokens'],
        (usage['prompt_tokens'] ?? 0) + (usage['completion_tokens'] ?? 0),
        'total_tokens',
      );
    },
  },
  {
    id: 'CHAT-3',
    title: 'the charge is the tokens at their rates, or the price of the call',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await completion(suite);
      const usage = body['usage'] as Record<string, number>;
      const pricing = suite.chat?.pricing ?? {};
      const job = await endOfJob(suite, String(body['id']).replace('chatcmpl-', ''));
      const wanted =
        pricing['unit'] === 'token'
          ? fromNano(
              tokenCharge(
                { input: usage['prompt_tokens'] ?? 0, output: usage['completion_tokens'] ?? 0 },
                {
                  input: String(pricing['input_usd_per_1m']),
                  output: String(pricing['output_usd_per_1m']),
                },
              ),
            )
          : pricing['price_usd'];
      expectEqual((job['usage'] as JsonRecord)['cost_usd'], wanted, 'cost_usd');
    },
  },
  {
    id: 'CHAT-4',
    title: 'X-Chat-Completion-Id names the completion, and X-Conversation-Id the conversation',
    needs: ['chat'],
    run: async (suite) => {
      const { answer, body } = await completion(suite);
      expectHeader(answer, 'x-chat-completion-id', String(body['id']));
      expectHeader(answer, 'x-conversation-id', 'contract-1');
      expectEqual(body['conversation_id'], 'contract-1', 'conversation_id');
    },
  },
  {
    id: 'CHAT-5',
    title: 'without model the default SKU answers',
    needs: ['chat'],
    run: async (suite) => {
      const { model: _model, ...body } = chatBody(suite);
      const answer = expectJson(await postChat(suite, { body }), 200);
      const skus = suite.models.filter(({ kind }) => kind === 'chat').map(({ id }) => String(id));
      const standard = 'textmodel-3.5-flash';
      expectEqual(answer['model'], skus.includes(standard) ? standard : skus[0], 'model');
    },
  },
  {
    id: 'CHAT-6',
    title: 'messages is required and not empty; its 422 has detail and error',
    run: (suite) =>
      expectRefusals(
        suite,
        path,
        [{}, { messages: [] }, { messages: 'hello' }, { messages: [7] }].map((body) => ({
          body: { model: noSku, ...body },
        })),
        { ...invalid, param: 'messages' },
      ),
  },
  {
    id: 'CHAT-7',
    title: 'fields that multiply output are refused by name when they are above 1',
    run: async (suite) => {
      const names = ['n', 'best_of', 'candidate_count', 'num_return_sequences'];
      await expectRefusals(
        suite,
        path,
        names.map((name) => ({ body: bare({ [name]: 2 }), param: name })),
        invalid,
      );
      await expectWellFormed(suite, path, [bare({ n: 1 }), bare({ n: null })]);
    },
  },
  {
    id: 'CHAT-8',
    title: 'max_tokens and max_completion_tokens go up to 65536; only one of them may be set',
    run: async (suite) => {
      await expectRefusals(
        suite,
        path,
        [
          { body: bare({ max_tokens: 65_537 }), param: 'max_tokens' },
          { body: bare({ max_completion_tokens: 65_537 }), param: 'max_completion_tokens' },
          { body: bare({ max_tokens: 0 }), param: 'max_tokens' },
          { body: bare({ max_tokens: 5, max_completion_tokens: 5 }) },
        ],
        invalid,
      );
      await expectWellFormed(suite, path, [
        bare({ max_tokens: 65_536 }),
        bare({ max_completion_tokens: 65_536, max_tokens: null }),
      ]);
    },
  },
  {
    id: 'CHAT-9',
    title: 'webhook_url and custom_data are not accepted',
    run: (suite) =>
      expectRefusals(
        suite,
        path,
        [
          { body: bare({ webhook_url: 'https://example.com/hook' }), param: 'webhook_url' },
          { body: bare({ custom_data: { a: 1 } }), param: 'custom_data' },
        ],
        invalid,
      ),
  },
  {
    id: 'CHAT-10',
    title: 'every documented field is accepted, also as null; unknown fields are ignored',
    run: async (suite) => {
      const nulls = Object.fromEntries(Object.keys(manyFields).map((name) => [name, null]));
      await expectWellFormed(suite, path, [
        bare(manyFields),
        bare(nulls),
        bare({ function_call: 'auto', functions: [{ name: 'f', parameters: {} }] }),
        bare({ stop: 'END', unknown_field: { a: [1] } }),
      ]);
    },
  },
  {
    id: 'CHAT-11',
    title: 'every documented role and form of content is accepted, and no other role',
    run: async (suite) => {
      await expectWellFormed(suite, path, [
        bare({ messages: everyRole }),
        bare({
          messages: [
            {
              role: 'user',
              content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }],
            },
          ],
        }),
      ]);
      await expectRefusals(
        suite,
        path,
        [
          { role: 'robot', content: 'x' },
          { content: 'x' },
          { role: 'user', content: [{ type: 'video' }] },
        ].map((message) => ({ body: bare({ messages: [message] }) })),
        { ...invalid, param: 'messages' },
      );
    },
  },
  {
    id: 'CHAT-12',
    title: 'only function tools are taken, with auto, required, none or a named function',
    run: async (suite) => {
      await expectRefusals(
        suite,
        path,
        [{ type: 'web_search' }, { type: 'custom', custom: { name: 'x' } }].map((tool) => ({
          body: bare({ tools: [tool] }),
        })),
        { ...invalid, param: 'tools' },
      );
      const named = { type: 'function', function: { name: 'pick_colour' } };
      await expectWellFormed(
        suite,
        path,
        ['auto', 'required', 'none', named].map((choice) => bare({ tools: [fn], tool_choice: choice })),
      );
      const other = { type: 'function', function: { name: 'another' } };
      const refused = [bare({ tool_choice: 'required' })].concat(
        ['perhaps', other].map((choice) => bare({ tools: [fn], tool_choice: choice })),
      );
      await expectRefusals(
        suite,
        path,
        refused.map((body) => ({ body })),
        { ...invalid, param: 'tool_choice' },
      );
    },
  },
  {
    id: 'CHAT-13',
    title: 'a tool call can be sent back with its output',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const body = chatBody(suite, { tools: [fn], tool_choice: 'required' });
      const first = expectJson(await postChat(suite, { body }), 200);
      const [choice] = first['choices'] as { message: JsonRecord; finish_reason: string }[];
      const message = choice?.message ?? {};
      const [call] = (message['tool_calls'] ?? []) as JsonRecord[];
      expectShape(
        call,
        members({
          id: filledText,
          type: exactly('function'),
          function: members({ name: exactly('pick_colour'), arguments: text }),
        }),
        'the tool call',
      );
      expectEqual(choice?.finish_reason, 'tool_calls', 'finish_reason');
      const conversation = [
        ...messages,
        message,
        { role: 'tool', tool_call_id: call?.['id'], content: 'blue' },
      ];
      expectJson(
        await postChat(suite, { body: { ...body, tool_choice: 'auto', messages: conversation } }),
        200,
      );
    },
  },
  {
    id: 'CHAT-14',
    title: 'an image part may be a data URI; an address that is not public HTTPS is 422',
    needs: ['chat'],
    run: async (suite) => {
      const withImage = (url: string) =>
        chatBody(suite, {
          messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
        });
      await expectRefusals(
        suite,
        path,
        ['http://example.com/a.png', 'https://10.0.0.7/a.png', 'data:text/plain;base64,QUJD'].map((url) => ({
          body: withImage(url),
        })),
        { ...invalid, param: 'messages' },
      );
      const parts = [{ type: 'image_url', image_url: { url: pngUri } }];
      await expectWellFormed(suite, path, [bare({ messages: [{ role: 'user', content: parts }] })]);
    },
  },
  {
    id: 'CHAT-15',
    title: 'an upstream failure is 502 upstream_error, without a charge',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const failing = chatBody(suite, { messages: [{ role: 'user', content: '[sandbox:fail]' }] });
      const answer = await suite.call(path, { body: failing });
      expectError(answer, { status: 502, code: 'upstream_error', type: 'server_error' });
      const id = expectHeader(answer, 'x-chat-completion-id').replace('chatcmpl-', '');
      const job = await endOfJob(suite, id);
      expectEqual((job['usage'] as JsonRecord)['cost_usd'], '0.00', 'the cost of a failed chat');
    },
  },
  {
    id: 'CHAT-16',
    title: 'a refusal by content policy is 400, an upstream rate limit 429 with Retry-After',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const ask = (content: string) =>
        suite.call(path, { body: chatBody(suite, { messages: [{ role: 'user', content }] }) });
      expectError(await ask('[sandbox:moderated]'), { status: 400, code: 'content_policy_violation' });
      const limited = await ask('[sandbox:rate_limit]');
      expectError(limited, { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_exceeded' });
      expectThat(Number(expectHeader(limited, 'retry-after')) >= 1, 'Retry-After is below a second');
    },
  },
  {
    id: 'CHAT-17',
    title: 'an answer cut at the output limit ends with finish_reason length',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const body = chatBody(suite, { messages: [{ role: 'user', content: '[sandbox:truncate]' }] });
      const { choices } = expectJson(await postChat(suite, { body }), 200);
      expectShape(choices, listOf(members({ finish_reason: exactly('length') }), 1), 'choices');
    },
  },
  {
    id: 'CHAT-18',
    title: 'after the deadline 408 names the completion, says not to retry, and the job goes on',
    needs: ['chat', 'sandbox', 'deadline'],
    run: async (suite) => {
      const seconds = (suite.settings.deadlineSeconds ?? 0) + 2;
      const content = `Name one colour. [sandbox:slow=${seconds}]`;
      const answer = await postChat(suite, {
        body: chatBody(suite, { messages: [{ role: 'user', content }] }),
      });
      expectError(answer, { status: 408 });
      expectHeader(answer, 'x-should-retry', 'false');
      const id = expectHeader(answer, 'x-chat-completion-id', /^chatcmpl-/).replace('chatcmpl-', '');
      const job = await endOfJob(suite, id);
      expectShape(job, members({ status: exactly('done'), response: completionShape }), 'the recovered job');
    },
  },
  {
    id: 'CHAT-19',
    title: 'a balance that is too low is 402',
    needs: ['chat', 'poor_key'],
    run: (suite) => expectTooDear(suite, path, chatBody(suite)),
  },
  {
    id: 'CHAT-20',
    title: 'the service fetches an image part given by address',
    needs: ['chat', 'webhook'],
    run: async (suite) => {
      const url = suite.receiver?.pictureAddress('chat.png');
      const body = chatBody(suite, {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      });
      const answer = await postChat(suite, { body });
      // The contract does not promise that a model accepts images. Its upstream may refuse them.
      if (answer.status === 200) expectShape(expectJson(answer, 200), completionShape, 'the completion');
      else expectError(answer, { status: [400, 502] });
      expectThat((suite.receiver?.pictureFetches('chat.png') ?? 0) > 0, 'nobody fetched the image');
    },
  },
];
