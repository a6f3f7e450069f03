import { afterAll, describe, expect, it } from 'vitest';
import { aspectRatios, type AspectRatio } from '../../../src/providers/image/image-provider.ts';
import { layOutCaption } from '../../../src/providers/sandbox/pictures/draw-picture.ts';
import { createSandboxImage } from '../../../src/providers/sandbox/sandbox-image.ts';
import { noAbort, rejectionOf } from '../collect.ts';

const sandbox = createSandboxImage();
afterAll(() => sandbox.close());

const draw = async (
  prompt: string,
  aspectRatio: AspectRatio = '1:1',
  signal = noAbort(),
): Promise<Buffer> => {
  const image = await sandbox.generate({ model: 'm', prompt, aspectRatio, inputs: [] }, { signal });
  expect(image).toMatchObject({ contentType: 'image/png', revisedPrompt: null });
  return Buffer.from(image.bytes);
};

/** Width and height from a PNG's header. */
const pngSize = (png: Buffer): [width: number, height: number] => {
  expect(png.subarray(1, 4).toString('latin1')).toBe('PNG');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
};

describe('the sandbox’s pictures', () => {
  it.each(aspectRatios)('are PNG in the ratio %s, 1,024 on the longer side', async (ratio) => {
    const [width, height] = pngSize(await draw('A fox', ratio));
    const [across = 1, down = 1] = (ratio === 'auto' ? '1:1' : ratio).split(':').map(Number);
    expect(Math.max(width, height)).toBe(1024);
    expect(width / height).toBeCloseTo(across / down, 1);
  });

  it('are the same for the same prompt, and others for others', async () => {
    const [fox, sameFox, owl] = await Promise.all([draw('A fox'), draw('A fox'), draw('An owl')]);
    expect(fox.equals(sameFox)).toBe(true);
    expect(fox.equals(owl)).toBe(false);
  });

  it.each([
    ['markup', '</text><script>&amp;"\'<!--'],
    ['control characters', 'a\u0000b\u0007c\ufffe\uffff'],
    ['half characters', '\ud83d fox \udc00'],
    ['letters that the font lacks', '静かな港 🌊'],
    ['one endless word', 'x'.repeat(5_000)],
    ['a quarter of a million characters', 'word '.repeat(52_428)],
  ])('are drawn for a prompt of %s', async (_name, prompt) => {
    expect(pngSize(await draw(prompt))).toEqual([1024, 1024]);
  });
});

describe('a sandbox trigger for pictures', () => {
  it.each([
    ['fail', 'upstream_error'],
    ['moderated', 'content_policy_violation'],
    ['rate_limit', 'rate_limit_exceeded'],
  ])('%s fails without harm to others', async (word, code) => {
    expect(await rejectionOf(draw(`A fox [sandbox:${word}]`))).toMatchObject({ failure: 'fatal', code });
  });

  it.each(['stall', 'slow=500'])('%s lasts until the caller aborts', async (word) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const drawing = rejectionOf(draw(`A fox [sandbox:${word}]`, '1:1', controller.signal));
    controller.abort(reason);
    expect(await drawing).toBe(reason);
  });
});

describe('the layout of a caption', () => {
  const box = { width: 900, height: 390 };

  it('uses large type for few words and small type for many', () => {
    expect(layOutCaption('A fox', box)).toEqual({ fontSize: 64, lines: ['A fox'] });
    expect(layOutCaption('many words '.repeat(30), box).fontSize).toBeLessThan(64);
  });

  it('stays inside its box, cutting what is too long', () => {
    const { fontSize, lines } = layOutCaption('far too many words '.repeat(200), box);
    expect(lines.length * fontSize * 1.3).toBeLessThanOrEqual(box.height);
    expect(lines.at(-1)).toMatch(/\.\.\.$/);
  });

  it('keeps Latin, Greek and Cyrillic words and leaves out what the font lacks', () => {
    expect(layOutCaption('Žlutý 静 лес 🌊 δάσος', box).lines.join(' ')).toBe('Žlutý лес δάσος');
  });
});
