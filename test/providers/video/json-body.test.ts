import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createJsonBody, DataUri } from '../../../src/providers/video/task-video.ts';
import { collectBytes } from './collect-bytes.ts';

describe('a JSON body with files', () => {
  it.each([0, 1, 2, 3, 196_607, 196_608, 196_609, 500_000])(
    'has a file of %i bytes as a data URI, and knows its length before',
    async (size) => {
      const bytes = randomBytes(size);
      const body = createJsonBody({
        prompt: 'žluťoučký "kůň"\n',
        content: [
          { url: new DataUri('image/png', bytes) },
          { url: new DataUri('image/webp', Buffer.from('é')) },
        ],
        end: null,
      });
      const text = await collectBytes(body.chunks);
      expect(text.length).toBe(body.lengthBytes);
      expect(JSON.parse(text.toString())).toEqual({
        prompt: 'žluťoučký "kůň"\n',
        content: [
          { url: `data:image/png;base64,${bytes.toString('base64')}` },
          { url: `data:image/webp;base64,${Buffer.from('é').toString('base64')}` },
        ],
        end: null,
      });
    },
  );

  it('takes no memory for a file’s text beyond a slice', async () => {
    const body = createJsonBody({ url: new DataUri('image/png', Buffer.alloc(4_000_000)) });
    for await (const chunk of body.chunks) expect(chunk.length).toBeLessThan(300_000);
  });
});
