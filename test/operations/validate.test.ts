import { beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/kit/errors.ts';
import type { Call } from '../../src/operations/call.ts';
import type { Operation } from '../../src/operations/definition.ts';
import { validate } from '../../src/operations/validate.ts';
import { operations } from './test-operations.ts';
import { rulesOf } from '../../src/operations/sale-rules.ts';

let byName: ReadonlyMap<string, Operation>;

beforeAll(() => {
  byName = new Map(operations.map((operation) => [operation.name, operation]));
});

const operationOf = (name: string): Operation => {
  const operation = byName.get(name);
  if (operation === undefined) throw new Error(`there is no ${name}`);
  return operation;
};

const refusalOf = (name: string, raw: object, transport?: Call['transport']): AppError => {
  try {
    validate(operationOf(name), raw, transport);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error(`${name} took ${JSON.stringify(raw)}`);
};

const image = (more: object): object => ({ model: 'm', prompt: 'x', ...more });
const chat = (content: unknown): object => ({ messages: [{ role: 'user', content }] });

describe('a refusal of a wrong field', () => {
  it.each<[operation: string, request: object, text: string]>([
    ['create_image', { model: '', prompt: 'x' }, 'model: must not be empty'],
    ['create_image', { model: 'm' }, 'prompt: is required'],
    ['create_image', { model: 'm'.repeat(129), prompt: 'x' }, 'model: must have at most 128 characters'],
    ['create_image', image({ image: Array(17).fill('u') }), 'image: must have at most 16 items'],
    ['create_image', image({ image: 7 }), 'image: must be a string or an array'],
    ['create_image', image({ image: ['u', 7] }), 'image.1: must be a string'],
    ['create_image', image({ image: [''] }), 'image.0: must not be empty'],
    ['create_image', image({ n: 2 }), 'n: must be 1'],
    ['create_video', { model: 'm', content: 'x'.repeat(65) }, 'content: must be an array'],
    ['create_video', { model: 'm', content: '' }, 'content: must be an array'],
    ['create_video', { model: 'm', content: [] }, 'content: must not be empty'],
    ['create_video', { model: 'm', duration: 1.5 }, 'duration: must be a whole number'],
    ['create_video', { model: 'm', resolution: '8k' }, 'resolution: must be "480p", "720p", "1080p" or "4k"'],
    [
      'create_video',
      { model: 'm', content: [{ type: 'file' }] },
      'content.0.type: must be "text", "image_url", "video_url" or "audio_url"',
    ],
    ['create_chat_completion', chat(7), 'messages.0.content: must be a string or an array'],
    [
      'create_chat_completion',
      { messages: [{ content: 'x' }] },
      'messages.0.role: is required and must be "system", "developer", "user", "assistant", "tool" or "function"',
    ],
    ['create_response', {}, 'input: is required'],
    ['create_response', { input: 7 }, 'input: must be a string or an array of items'],
    ['create_response', { input: [{ role: 'user', content: 'x' }, 'y'] }, 'input.1: must be a JSON object'],
    ['create_response', { input: [{ type: 7 }] }, 'input.0.type: must be a string'],
    [
      'create_response',
      { input: [{ role: 'user', content: 7 }] },
      'input.0.content: must be a string or an array of parts with a type',
    ],
    [
      'create_response',
      { input: [{ role: 'user', content: [{ text: 'x' }] }] },
      'input.0.content.0.type: is required',
    ],
    ['create_chat_completion', chat([7]), 'messages.0.content.0: must be a JSON object'],
    [
      'create_chat_completion',
      chat([{ type: 'text', text: 'x' }, { type: 'video' }]),
      'messages.0.content.1.type: must be "text", "refusal", "image_url" or "input_audio"',
    ],
    ['create_chat_completion', chat([{ type: 'text' }]), 'messages.0.content.0.text: is required'],
    [
      'create_chat_completion',
      chat([{ type: 'image_url', image_url: { url: 'ftp://example.com' } }]),
      'messages.0.content.0.image_url.url: must be an https:// URL, or a base64 data URI of a PNG, JPEG, WebP, GIF or AVIF',
    ],
    ['create_chat_completion', { ...chat('x'), stop: [1] }, 'stop.0: must be a string'],
    [
      'create_chat_completion',
      { ...chat('x'), metadata: { a: Infinity } },
      'metadata.a: must be a number within the range of a double',
    ],
    [
      'create_chat_completion',
      { ...chat('x'), tool_choice: 'any' },
      'tool_choice: must be "auto", "required", "none" or {"type": "function", "function": {"name": ...}}',
    ],
    [
      'create_chat_completion',
      { ...chat('x'), best_of: 2 },
      'best_of: above 1 is not supported; leave it out or send 1',
    ],
    [
      'create_chat_completion',
      { ...chat('x'), custom_data: {} },
      'custom_data: is not accepted here; leave it out',
    ],
    ['list_jobs', { limit: 101 }, 'limit: must be at most 100'],
  ])('of %s says what to do: %j', (name, request, text) => {
    expect(refusalOf(name, request).message).toBe(text);
  });

  it.each<[operation: string, name: string, meant: string]>([
    ['create_video', 'seconds', 'duration'],
    ['create_video', 'n_seconds', 'duration'],
    ['create_video', 'Length', 'duration'],
    ['create_video', 'aspect', 'aspect_ratio or ratio'],
    ['create_video', 'size', 'resolution, aspect_ratio or ratio'],
    ['create_video', 'input_reference', 'image_url or content'],
    ['create_video', 'image', 'image_url or content'],
    ['create_video', 'Duration', 'duration'],
    ['create_video', 'duraton', 'duration'],
    ['create_video', 'aspectRatio', 'aspect_ratio'],
    ['create_video', 'reslution', 'resolution'],
    ['create_image', 'aspect', 'aspect_ratio'],
    ['create_image', 'ratio', 'aspect_ratio'],
    ['create_image', 'image_url', 'image'],
    ['create_image', 'images', 'image'],
    ['create_image', 'promt', 'prompt'],
    ['create_image', 'N', 'n'],
    ['create_image', 'asinc', 'async in the query'],
    ['search_leads', 'qurey', 'query'],
  ])('of %s names what was meant by %s: %s', (name, field, meant) => {
    const { message, param, issues } = refusalOf(name, {
      ...{ create_video: { model: 'm', prompt: 'x' }, create_image: image({}), search_leads: {} }[name],
      [field]: 12,
    });
    expect([message, param]).toEqual([`${field}: is not a field here; did you mean ${meant}?`, field]);
    expect(issues?.map(({ type }) => type)).toEqual(['extra_forbidden']);
  });

  it('names an unknown field once where all are refused, and tells the field that its name begins', () => {
    const { issues } = refusalOf('create_key', { budget_day: 5, colour: 'blue', label: 7 });
    expect(issues?.map(({ loc, msg }) => [loc[1], msg])).toEqual([
      ['budget_day', 'is not a field here; did you mean budget_day_usd?'],
      ['colour', 'is not a field here'],
      ['label', 'must be a string'],
    ]);
  });

  it('names the field by names and indices, which are numbers in its way and stand between dots in param', () => {
    const { param, issues } = refusalOf('create_chat_completion', {
      messages: [{ role: 'user', content: 'x' }, { content: [{ type: 'text', text: 1 }] }],
      logit_bias: { 50: 'x' },
    });
    expect(param).toBe('messages.1.role');
    expect(issues?.map(({ loc }) => loc)).toEqual([
      ['body', 'messages', 1, 'role'],
      ['body', 'messages', 1, 'content', 0, 'text'],
      ['body', 'logit_bias', '50'],
    ]);
  });

  it.each<[operation: string, request: object, type: string]>([
    ['create_image', {}, 'missing'],
    ['create_response', {}, 'missing'],
    ['create_chat_completion', { messages: [{ content: 'x' }] }, 'missing'],
    ['create_image', { model: 7 }, 'string_type'],
    ['create_image', { model: '' }, 'greater_than_equal'],
    ['list_jobs', { limit: 101 }, 'less_than_equal'],
    ['create_video', { model: 'm', resolution: '8k' }, 'value_error'],
  ])('of %s has a type: %j is %s', (name, request, type) => {
    expect(refusalOf(name, request).issues?.[0]).toMatchObject({ type });
  });

  it('names twenty of very many', () => {
    const parts = Array.from({ length: 20_000 }, () => ({ type: 'text' }));
    expect(refusalOf('create_chat_completion', chat(parts)).issues).toHaveLength(20);
  });

  it.each<[string, object, Call['transport']]>([
    ['a field', image({ [`a\u001b${'a'.repeat(20_000)}`]: 1 }), 'mcp'],
    ['a member of a field', { ...chat('x'), logit_bias: { [`a\u001b${'a'.repeat(20_000)}`]: 'x' } }, 'rest'],
  ])('shows the first 128 visible characters of the name of %s', (_what, request, transport) => {
    const name = 'logit_bias' in request ? 'create_chat_completion' : 'create_image';
    const { message, param, issues } = refusalOf(name, request, transport);
    expect(issues?.[0]?.loc.at(-1)).toBe('a'.repeat(128));
    expect(param?.endsWith('a'.repeat(128))).toBe(true);
    expect(message.length).toBeLessThan(200);
  });

  it.each<[operation: string, place: string, request: (items: object[]) => object]>([
    ['create_chat_completion', 'messages', (messages) => ({ messages })],
    ['create_chat_completion', 'content', chat],
    ['create_chat_completion', 'tools', (tools) => ({ ...chat('x'), tools })],
    ['create_response', 'input', (input) => ({ input })],
    ['create_response', 'content', (content) => ({ input: [{ role: 'user', content }] })],
    ['create_response', 'tools', (tools) => ({ input: 'x', tools })],
  ])('of %s is found without reading all wrong items of a list: %s', (name, _place, request) => {
    let read = 0;
    const wrong = Array.from({ length: 1_000 }, () => ({
      get type() {
        read += 1;
        return 7;
      },
      get role() {
        read += 1;
        return 7;
      },
    }));
    refusalOf(name, request(wrong));
    // The size of a request is found by reading all of it.
    expect(read - 2 * wrong.length).toBeLessThan(500);
  });

  it('comes of the query, the path or the body', () => {
    const placeOf = (name: string, raw: object): unknown => refusalOf(name, raw).issues?.[0]?.loc;
    expect(placeOf('create_image', image({ async: 'x' }))).toEqual(['query', 'async']);
    expect(placeOf('get_job', { job_id: 'x'.repeat(129) })).toEqual(['path', 'job_id']);
    expect(placeOf('create_image', image({ size: 7 }))).toEqual(['body', 'size']);
  });
});

/** The names that requests of OpenAI, its clients and other makers of images and films have beside ours. */
const foreign = {
  create_image: [
    ...[
      'background',
      'moderation',
      'output_compression',
      'output_format',
      'partial_images',
      'quality',
      'style',
    ],
    ...[
      'user',
      'input_fidelity',
      'mask',
      'seed',
      'steps',
      'num_inference_steps',
      'guidance',
      'guidance_scale',
    ],
    ...[
      'negative_prompt',
      'strength',
      'cfg_scale',
      'sampler',
      'scheduler',
      'loras',
      'safety_tolerance',
      'format',
    ],
    ...['extra_body', 'metadata', 'watermark', 'tags', 'id', 'ar', 'k'],
  ],
  create_video: [
    ...[
      'user',
      'quality',
      'style',
      'negative_prompt',
      'fps',
      'frames',
      'camera_fixed',
      'camera_control',
      'loop',
    ],
    ...[
      'motion',
      'watermark',
      'cfg_scale',
      'person_generation',
      'metadata',
      'callback_url',
      'tags',
      'id',
      'n',
      'k',
    ],
    ...['safety_identifier', 'service_tier', 'effects', 'mask', 'audio', 'voice', 'draft', 'keyframes'],
  ],
};

describe('a field that is not known', () => {
  it.each(Object.entries(foreign))('of %s is ignored where it is like none that is known', (name, fields) => {
    const known = { model: 'm', prompt: 'x' };
    const unknown = Object.fromEntries(fields.map((field) => [field, 'x']));
    expect(validate(operationOf(name), { ...known, ...unknown })).toEqual(validate(operationOf(name), known));
  });

  it('of a video is ignored where it says in the words of another API what is there, too', () => {
    const known = { model: 'm', duration: 5, resolution: '720p', image_url: 'https://example.com/a.png' };
    const both = { ...known, seconds: '5', size: '1280x720', input_reference: { image_url: 'x' } };
    expect(validate(operationOf('create_video'), both)).toEqual(validate(operationOf('create_video'), known));
    expect(refusalOf('create_video', { ...both, duration: null }).param).toBe('seconds');
    expect(refusalOf('create_video', { ...both, duration: 12 }).param).toBe('seconds');
    expect(refusalOf('create_video', both, 'mcp').issues).toHaveLength(3);
  });

  it.each([
    [{ Role: 'reference_image' }, {}, 'content.1.Role', 'role'],
    [{ rol: 'reference_image' }, {}, 'content.1.rol', 'role'],
    [{}, { URL: 'x' }, 'content.1.image_url.URL', 'url'],
  ])(
    'within a part of a video is refused where it is like a known one: %j %j',
    (part, medium, param, meant) => {
      const url = 'https://example.com/a.png';
      const image = { type: 'image_url', image_url: { url, detail: 'high', ...medium }, ...part };
      const request = { model: 'm', content: [{ type: 'text', text: 'x', lang: 'en' }, image] };
      const { message, issues } = refusalOf('create_video', request);
      expect(message).toBe(`${param}: is not a field here; did you mean ${meant}?`);
      expect(issues?.[0]?.loc).toEqual([
        'body',
        ...param.split('.').map((name) => (name === '1' ? 1 : name)),
      ]);
      const places = refusalOf('create_video', request, 'mcp').issues?.map(({ loc }) =>
        loc.slice(1).join('.'),
      );
      expect(places).toEqual([param]);
    },
  );

  it.each([
    ['create_chat_completion', chat('x')],
    ['create_response', { input: 'x' }],
  ])('of %s is ignored however it is written', (name, request) => {
    const slips = { Model: 'm', max_token: 5, max_output_token: 5, temprature: 1 };
    expect(() => validate(operationOf(name), { ...request, ...slips })).not.toThrow();
  });

  it('within a part is ignored where it is null, or like none', () => {
    const part = { type: 'text', text: 'x', role: null, image_url: null, mode: 'fast', texts: null };
    for (const transport of ['rest', 'mcp'] as const)
      expect(validate(operationOf('create_video'), { model: 'm', content: [part] }, transport)).toMatchObject(
        { content: [{ type: 'text', text: 'x' }] },
      );
  });

  it('is looked for among the first thousand of very many, and twenty are named', () => {
    const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`aspect${index}`, 0]));
    expect(refusalOf('create_image', image({ promt: 'x', ...many })).param).toBe('promt');
    expect(() => validate(operationOf('create_image'), image({ ...many, promt: 'x' }))).not.toThrow();
    expect(refusalOf('create_image', image(many), 'mcp').issues).toHaveLength(20);
  });

  it('of a tool is refused, whatever it is called, and an idempotency key is known where something is bought', () => {
    for (const operation of operations.filter(({ tool }) => tool !== null)) {
      const { issues } = refusalOf(operation.name, { zzzzzz: 1, idempotencyKey: 'k' }, 'mcp');
      const hint = !rulesOf(operation.sale).isPrepaid ? '' : '; did you mean idempotency_key?';
      expect([operation.name, ...(issues ?? []).slice(0, 2).map(({ msg }) => msg)]).toEqual([
        operation.name,
        'is not a field here',
        `is not a field here${hint}`,
      ]);
    }
  });
});
