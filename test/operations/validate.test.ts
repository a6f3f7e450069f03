import { beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/kit/errors.ts';
import type { Operation } from '../../src/operations/operation.ts';
import { validate } from '../../src/operations/validate.ts';
import { operations } from './test-operations.ts';

let byName: ReadonlyMap<string, Operation>;

beforeAll(() => {
  byName = new Map(operations.map((operation) => [operation.name, operation]));
});

const refusalOf = (name: string, raw: object): AppError => {
  const operation = byName.get(name);
  if (operation === undefined) throw new Error(`there is no ${name}`);
  try {
    validate(operation, raw);
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

  it('comes of the query, the path or the body', () => {
    const placeOf = (name: string, raw: object): unknown => refusalOf(name, raw).issues?.[0]?.loc;
    expect(placeOf('create_image', image({ async: 'x' }))).toEqual(['query', 'async']);
    expect(placeOf('get_job', { job_id: 'x'.repeat(129) })).toEqual(['path', 'job_id']);
    expect(placeOf('create_image', image({ size: 7 }))).toEqual(['body', 'size']);
  });
});
