import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openS3Place } from '../../../src/leads/shared/s3-place.ts';
import { startS3Server } from '../../media/s3-server.ts';
import { createConditionalWrites } from './conditional-writes.ts';
import { signal } from './fleet.ts';
import { testPlaces } from './open-test-place.ts';

const name = 'base-0123456789abcdef.db';

describe.each(testPlaces)('$kind', ({ openTestPlace }) => {
  it('replaces its manifest only if it is the expected one', async () => {
    const test = await openTestPlace();
    const [one, other] = [test.open(), test.open()];
    expect(await one.readManifest({ signal })).toBeNull();
    await one.assertReplaceable({ signal });
    const firsts = await Promise.all(
      [one, other].map((place, index) => place.replaceManifest(`first ${index}`, { tag: null, signal })),
    );
    expect(firsts.filter((tag) => tag === null)).toHaveLength(1);
    const found = await one.readManifest({ signal });
    expect(firsts).toContain(found?.tag);
    const tag = found?.tag ?? '';
    const seconds = await Promise.all(
      [one, other].map((place, index) => place.replaceManifest(`second ${index}`, { tag, signal })),
    );
    expect(seconds.filter((next) => next === null)).toHaveLength(1);
    expect(await other.replaceManifest('third', { tag, signal })).toBeNull();
    expect((await one.readManifest({ signal }))?.text).toMatch(/^second/);
    expect(await test.objects()).toEqual(['current.json']);
    await Promise.all([one.close(), other.close()]);
  });

  it('keeps objects until they are removed, and lists the old ones', async () => {
    const test = await openTestPlace();
    const place = test.open();
    await place.put(name, Readable.from([Buffer.from('some '), Buffer.from('bytes')]), { signal });
    expect(await text(await place.get(name, { signal }))).toBe('some bytes');
    await place.replaceManifest('a manifest', { tag: null, signal });
    expect(await place.listOld({ olderThan: Date.now() - 60_000, signal })).toEqual([]);
    expect(await place.listOld({ olderThan: Date.now() + 60_000, signal })).toEqual([name]);
    await place.remove(name, { signal });
    await place.remove(name, { signal });
    expect(await test.objects()).toEqual(['current.json']);
    await place.close();
  });
});

describe('a bucket', () => {
  it('whose service ignores conditions is refused', async () => {
    const s3 = await startS3Server();
    onTestFinished(() => s3.stop());
    const place = openS3Place(s3.config);
    await expect(place.assertReplaceable({ signal })).rejects.toThrow(
      /^The service of s3:\/\/media-bucket\/some\/prefix\/ ignores If-Match .*Use a service with conditional writes/,
    );
    expect(await s3.contents()).toEqual([]);
    await place.close();
  });

  it('knows its own write again when the answer was lost', async () => {
    const s3 = await startS3Server();
    onTestFinished(() => s3.stop());
    const conditional = createConditionalWrites(s3);
    let lost = 0;
    s3.intercept = (request, response) => {
      if (request.method === 'PUT' && lost === 0) {
        lost += 1;
        // The service does as asked, and the line breaks before its answer.
        void once(response, 'prefinish').then(() => request.socket.destroy());
        response.end = ((): typeof response => {
          response.emit('prefinish');
          response.emit('close');
          return response;
        }) as typeof response.end;
      }
      return conditional(request, response);
    };
    const place = openS3Place(s3.config, { pauseMs: 1 });
    const tag = await place.replaceManifest('mine', { tag: null, signal });
    expect(tag).not.toBeNull();
    expect(lost).toBe(1);
    expect(await place.replaceManifest('next', { tag, signal })).not.toBeNull();
    await place.close();
  });
});
