import type { JsonObject } from '../../kit/json.ts';

/** One request of an operation with its answer, for the interface description and the tests over it. */
export interface OperationExample {
  summary: string;
  /** Path and query fields. */
  parameters?: JsonObject;
  body?: JsonObject;
  status: 200 | 202;
  /** The JSON answer; null where the answer is bytes or a stream. */
  answer: JsonObject | null;
  /** The text of a streamed answer. */
  stream?: string;
}

const imageJobId = '7f3a9a52-0c8e-4f6d-9a3e-5b1d2c3e4f50';
const chatJobId = '2b6f0a0e-5d0c-4b51-8f5e-1f2f3a4b5c6d';
const responseJobId = 'c0ffee00-1b2c-4d3e-8f4a-5b6c7d8e9f00';
const videoId = '4d1c2b3a-6e5f-4a7b-8c9d-0e1f2a3b4c5d';
const createdAt = '2026-11-20T09:30:00.000Z';
const resultUrl = 'https://gateway.example.com/results/4fJq0mS2xYw8bT6uVn3kRzPc1LhGdEaW5iQoXyZ7BtN.png';

const queuedImage: JsonObject = {
  id: imageJobId,
  status: 'queued',
  model: 'imagemodel-1.0',
  created_at: createdAt,
  finished_at: null,
  custom_data: { order: 7301 },
  data: [],
  error: null,
  usage: { balance_remaining_usd: '24.96' },
};

const doneImage: JsonObject = {
  ...queuedImage,
  status: 'done',
  finished_at: '2026-11-20T09:30:06.412Z',
  data: [{ url: resultUrl, revised_prompt: null }],
  usage: { cost_usd: '0.04', balance_remaining_usd: '24.96' },
};

const failedImage: JsonObject = {
  ...queuedImage,
  status: 'failed',
  finished_at: '2026-11-20T09:30:02.007Z',
  error: {
    type: 'invalid_request_error',
    code: 'content_policy_violation',
    message: 'The prompt asks for something that is not made here.',
  },
  usage: { cost_usd: '0.00', balance_remaining_usd: '25.00' },
};

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

const completion: JsonObject = {
  id: `chatcmpl-${chatJobId}`,
  object: 'chat.completion',
  created: 1_795_253_400,
  model: 'textmodel-3.5-flash',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'A causeway crosses water.', refusal: null },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
  usage: chatUsage,
  conversation_id: null,
};

const toolCompletion: JsonObject = {
  ...completion,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Lisbon"}' },
          },
        ],
      },
      finish_reason: 'tool_calls',
      logprobs: null,
    },
  ],
};

const weatherParameters: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
};

const chunk = (rest: JsonObject): string =>
  `data: ${JSON.stringify({
    id: `chatcmpl-${chatJobId}`,
    object: 'chat.completion.chunk',
    created: 1_795_253_400,
    model: 'textmodel-3.5-flash',
    ...rest,
  })}\n\n`;

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

const messageItem: JsonObject = {
  id: `msg_${responseJobId}_0`,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'A causeway crosses water.', annotations: [], logprobs: [] }],
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
  output_text: 'A causeway crosses water.',
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
const text = 'A causeway crosses water.';
const textPart: JsonObject = { type: 'output_text', text, annotations: [], logprobs: [] };

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

const queuedVideo: JsonObject = {
  id: videoId,
  object: 'video',
  model: 'videomodel-2.0',
  status: 'queued',
  progress: 0,
  created_at: createdAt,
  completed_at: null,
  expires_at: null,
  duration: 5,
  resolution: '720p',
  ratio: '16:9',
  generate_audio: true,
  output_format: 'mp4',
  has_last_frame: false,
  error: null,
  usage: { billed_seconds: 5, balance_remaining_usd: '24.80' },
};

const completedVideo: JsonObject = {
  ...queuedVideo,
  status: 'completed',
  progress: 100,
  completed_at: '2026-11-20T09:31:12.903Z',
  expires_at: '2026-11-21T08:31:12.903Z',
  usage: { cost_usd: '0.20', billed_seconds: 5, balance_remaining_usd: '24.80' },
};

const textModel: JsonObject = {
  id: 'textmodel-3.5-flash',
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'causeway',
  kind: 'chat',
  pricing: { unit: 'token', currency: 'USD', input_usd_per_1m: '1.05', output_usd_per_1m: '6.30' },
};

const models: JsonObject = {
  object: 'list',
  data: [
    textModel,
    {
      ...textModel,
      id: 'imagemodel-1.0',
      kind: 'image',
      pricing: { unit: 'call', currency: 'USD', price_usd: '0.04' },
    },
    {
      ...textModel,
      id: 'videomodel-2.0',
      kind: 'video',
      pricing: {
        unit: 'second',
        currency: 'USD',
        rates: [{ resolution: '720p', price_usd: '0.04', with_video_price_usd: '0.024' }],
      },
    },
  ],
};

const historyItem: JsonObject = {
  id: imageJobId,
  model: 'imagemodel-1.0',
  kind: 'image',
  status: 'done',
  created_at: createdAt,
  finished_at: '2026-11-20T09:30:06.412Z',
  duration_ms: 6412,
  billing_status: 'charged',
  charged_usd: '0.04',
  refunded_usd: '0.00',
  net_spent_usd: '0.04',
  currency: 'USD',
  error: null,
};

const nextCursor = 'eyJ2IjoxLCJwIjoiMjAyNi0xMS0yMFQwOTozMDowMC4wMDBaIn0';

const totals: JsonObject = {
  jobs: { total: 3, queued: 0, running: 1, done: 1, failed: 1 },
  charged_usd: '0.04',
  refunded_usd: '0.00',
  net_spent_usd: '0.04',
};

const usage: JsonObject = {
  from: '2026-10-21T09:30:00.000Z',
  to: createdAt,
  currency: 'USD',
  ...totals,
  by_model: [{ model: 'imagemodel-1.0', ...totals }],
  by_kind: [{ kind: 'image', ...totals }],
  by_day: [{ day: '2026-11-20', ...totals }],
};

const lead: JsonObject = {
  username: 'harbour.roasters',
  full_name: 'Harbour Roasters',
  followers: 184_210,
  following: 312,
  is_verified: true,
  is_business: true,
  category: 'Food',
  bio: 'Small-batch coffee ☕\nLisbon',
  public_email: 'hello@harbour-roasters.example',
  media_count: 942,
  country: 'PT',
  city: 'Lisbon',
};

/** The examples of every operation, by its name. */
export const operationExamples: Readonly<Record<string, readonly OperationExample[]>> = {
  search_leads: [
    {
      summary: 'Coffee in Portugal, paid',
      parameters: { query: 'coffee', country: 'PT', min_followers: 10_000, limit: 20 },
      status: 200,
      answer: { results: [lead], count: 1 },
    },
  ],
  list_models: [{ summary: 'The SKUs of the account', status: 200, answer: models }],
  get_model: [
    {
      summary: 'One SKU',
      parameters: { model: 'textmodel-3.5-flash' },
      status: 200,
      answer: textModel,
    },
  ],
  get_balance: [
    {
      summary: 'An account with its webhook secret',
      status: 200,
      answer: {
        balance_usd: '24.96',
        currency: 'USD',
        webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwYzcH5hPLv3s=',
      },
    },
  ],
  get_usage: [
    {
      summary: 'The last 30 days',
      parameters: { from: '2026-10-21T09:30:00Z', to: '2026-11-20T09:30:00Z' },
      status: 200,
      answer: usage,
    },
  ],
  list_jobs: [
    {
      summary: 'The newest jobs',
      parameters: { limit: 50 },
      status: 200,
      answer: { data: [historyItem], has_more: true, next_cursor: nextCursor },
    },
  ],
  list_transactions: [
    {
      summary: 'The newest transactions',
      parameters: { limit: 50 },
      status: 200,
      answer: {
        data: [
          {
            id: '0d9e8f7a-6b5c-4d3e-9f2a-1b0c9d8e7f6a',
            type: 'debit',
            amount_usd: '-0.04',
            currency: 'USD',
            created_at: '2026-11-20T09:30:06.412Z',
            job_id: imageJobId,
            model: 'imagemodel-1.0',
          },
          {
            id: '1e0f9a8b-7c6d-4e4f-8a3b-2c1d0e9f8a7b',
            type: 'topup',
            amount_usd: '25.00',
            currency: 'USD',
            created_at: '2026-11-01T08:00:00.000Z',
            job_id: null,
            model: null,
          },
        ],
        has_more: false,
        next_cursor: null,
      },
    },
  ],
  create_chat_completion: [
    {
      summary: 'A question',
      body: {
        model: 'textmodel-3.5-flash',
        messages: [{ role: 'user', content: 'What does a causeway do? One sentence.' }],
        max_tokens: 200,
      },
      status: 200,
      answer: completion,
    },
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
      answer: toolCompletion,
    },
    {
      summary: 'A stream',
      body: {
        model: 'textmodel-3.5-flash',
        messages: [{ role: 'user', content: 'What does a causeway do? One sentence.' }],
        stream: true,
      },
      status: 200,
      answer: null,
      stream: chatStream,
    },
  ],
  create_response: [
    {
      summary: 'A question',
      body: {
        model: 'textmodel-3.5-flash',
        instructions: 'Answer in one sentence.',
        input: 'What does a causeway do?',
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
      body: { model: 'textmodel-3.5-flash', input: 'What does a causeway do?', stream: true },
      status: 200,
      answer: null,
      stream: responseStream,
    },
  ],
  get_response: [
    {
      summary: 'A completed response',
      parameters: { response_id: `resp_${responseJobId}` },
      status: 200,
      answer: response,
    },
  ],
  create_image: [
    {
      summary: 'Text to image, waiting for the result',
      body: { model: 'imagemodel-1.0', prompt: 'A lighthouse at dusk, watercolour', aspect_ratio: '3:2' },
      status: 200,
      answer: { ...doneImage, custom_data: {} },
    },
    {
      summary: 'Queued, with a signed callback at the end',
      parameters: { async: true },
      body: {
        model: 'imagemodel-1.0',
        prompt: 'A lighthouse at dusk, watercolour',
        webhook_url: 'https://shop.example.com/hooks/causeway',
        custom_data: { order: 7301 },
      },
      status: 202,
      answer: queuedImage,
    },
    {
      summary: 'An edit of a picture',
      parameters: { async: true },
      body: {
        model: 'imagemodel-1.0',
        prompt: 'Make it night',
        image: ['https://shop.example.com/pictures/lighthouse.png'],
        custom_data: { order: 7301 },
      },
      status: 202,
      answer: queuedImage,
    },
  ],
  create_video: [
    {
      summary: 'Text to video',
      body: {
        model: 'videomodel-2.0',
        content: [{ type: 'text', text: 'Waves against a lighthouse, slow camera' }],
        duration: 5,
        resolution: '720p',
        ratio: '16:9',
      },
      status: 202,
      answer: queuedVideo,
    },
    {
      summary: 'From a first frame, with the last frame kept',
      body: {
        model: 'videomodel-2.0',
        prompt: 'The lamp begins to turn',
        image_url: 'https://shop.example.com/pictures/lighthouse.png',
        duration: 5,
        return_last_frame: true,
      },
      status: 202,
      answer: { ...queuedVideo, ratio: 'adaptive' },
    },
    {
      summary: 'An edit of a reference video',
      body: {
        model: 'videomodel-2.5',
        content: [
          { type: 'text', text: 'Make it winter' },
          {
            type: 'video_url',
            video_url: { url: 'https://shop.example.com/clips/harbour.mp4' },
            role: 'reference_video',
          },
        ],
        duration: -1,
      },
      status: 202,
      answer: {
        ...queuedVideo,
        model: 'videomodel-2.5',
        ratio: 'adaptive',
        usage: { billed_seconds: 5, balance_remaining_usd: '24.82' },
      },
    },
  ],
  get_video: [
    { summary: 'A completed video', parameters: { video_id: videoId }, status: 200, answer: completedVideo },
  ],
  get_video_content: [
    {
      summary: 'The whole video',
      parameters: { video_id: videoId, variant: 'video' },
      status: 200,
      answer: null,
    },
  ],
  get_job: [
    { summary: 'A finished image', parameters: { job_id: imageJobId }, status: 200, answer: doneImage },
    { summary: 'A refused image', parameters: { job_id: imageJobId }, status: 200, answer: failedImage },
    {
      summary: 'A finished chat',
      parameters: { job_id: chatJobId },
      status: 200,
      answer: {
        id: chatJobId,
        status: 'done',
        model: 'textmodel-3.5-flash',
        created_at: createdAt,
        finished_at: '2026-11-20T09:30:01.250Z',
        custom_data: {},
        data: [],
        error: null,
        usage: { cost_usd: '0.0000525', balance_remaining_usd: '24.9599475' },
        response: completion,
      },
    },
  ],
};

/** A callback, for the `webhooks` of the description. */
export const jobEventExample: JsonObject = {
  event_id: '9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d',
  id: imageJobId,
  status: 'done',
  model: 'imagemodel-1.0',
  created_at: createdAt,
  finished_at: '2026-11-20T09:30:06.412Z',
  custom_data: { order: 7301 },
  data: [{ url: resultUrl, revised_prompt: null }],
  error: null,
};

/** The body of an unpaid search. */
export const paymentRequiredExample: JsonObject = {
  error: 'Payment required',
  x402: {
    version: '2',
    amount: '0.10',
    asset: 'USDC',
    payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
    chain: 'base',
  },
  x402Version: 1,
  accepts: [
    {
      scheme: 'exact',
      network: 'base',
      maxAmountRequired: '100000',
      resource: 'https://gateway.example.com/v1/search',
      description: 'Influencer search',
      mimeType: 'application/json',
      payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
      maxTimeoutSeconds: 300,
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      extra: { name: 'USD Coin', version: '2' },
    },
  ],
};
