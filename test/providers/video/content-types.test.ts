import { describe, expect, it } from 'vitest';
import { audioContentType, videoContentType } from '../../../src/providers/content-type.ts';
import { toContent } from '../../../src/providers/video/task-video.ts';
import { collectBytes } from './collect-bytes.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the type of a video', () => {
  it.each([
    ['MP4', '\0\0\0\x20ftypisom\0\0\x02\0', 'video/mp4'],
    ['MP4 of a phone', '\0\0\0\x18ftypmp42\0\0\0\0', 'video/mp4'],
    ['QuickTime', '\0\0\0\x14ftypqt  \0\0\x02\0', 'video/quicktime'],
    ['QuickTime of the last century', '\0\0\0\x6cmoov\0\0\0\x6cmvhd', 'video/quicktime'],
    ['an HEIC picture', '\0\0\0\x18ftypheic\0\0\0\0', null],
    ['an AVIF picture', '\0\0\0\x18ftypavif\0\0\0\0', null],
    ['a sound in MP4', '\0\0\0\x18ftypM4A \0\0\0\0', null],
    ['WebM', '\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81', null],
    ['a web page', '<!doctype html>', null],
    ['a name that was cut off', '\0\0\0\x18ftypis', null],
    ['nothing', '', null],
  ])('of %s is read from its first bytes', (_name, bytes, type) => {
    expect(videoContentType(latin1(bytes))).toBe(type);
  });
});

describe('the type of a sound', () => {
  it.each([
    ['a wave file', 'RIFF\x24\0\0\0WAVEfmt ', 'audio/wav'],
    ['MP3 with a tag', 'ID3\x04\0\0\0\0\0\0', 'audio/mpeg'],
    ['MP3 at 44.1 kHz', '\xff\xfb\x90\x64', 'audio/mpeg'],
    ['MP3 at 22.05 kHz', '\xff\xf3\x84\x64', 'audio/mpeg'],
    ['AAC in ADTS', '\xff\xf1\x50\x80', null],
    ['MPEG layer II', '\xff\xfd\x90\x04', null],
    ['a JPEG picture', '\xff\xd8\xff\xe0', null],
    ['a WebP picture', 'RIFF\x24\0\0\0WEBPVP8 ', null],
    ['ones', '\xff\xff\xff\xff', null],
    ['nothing', '', null],
  ])('of %s is read from its first bytes', (_name, bytes, type) => {
    expect(audioContentType(latin1(bytes))).toBe(type);
  });
});

describe('a file of an upstream', () => {
  const pieces = async function* (bytes: Buffer, onEnd: () => void): AsyncGenerator<Uint8Array> {
    try {
      for (const byte of bytes) yield await Promise.resolve(Uint8Array.of(byte));
    } finally {
      onEnd();
    }
  };

  it('is taken whole, however it comes', async () => {
    const file = latin1('\0\0\0\x20ftypisom and the rest');
    const content = await toContent(
      'video',
      pieces(file, () => undefined),
    );
    expect(content?.contentType).toBe('video/mp4');
    expect((await collectBytes(content!.body)).equals(file)).toBe(true);
  });

  it.each([
    ['video', '\x89PNG\r\n\x1a\n and the rest'],
    ['last_frame', '\0\0\0\x20ftypisom and the rest'],
    ['video', ''],
  ] as const)(
    'is left, and its connection with it, when as a %s it is of another type',
    async (part, text) => {
      let isLeft = false;
      const body = pieces(latin1(text), () => {
        isLeft = true;
      });
      expect(await toContent(part, body)).toBeNull();
      expect(isLeft).toBe(true);
    },
  );

  it('is left when the reader stops early', async () => {
    let isLeft = false;
    const body = pieces(latin1('\0\0\0\x20ftypisom and the rest'), () => {
      isLeft = true;
    });
    const content = await toContent('video', body);
    for await (const chunk of content!.body) if (chunk.length > 0) break;
    expect(isLeft).toBe(true);
  });
});
