import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newMediaId, openDiskFiles, openS3Files, readAll, type TestFiles } from './open-test-files.ts';

const mebibyte = 1024 ** 2;
const largeBytes = 8 * mebibyte;
const dayMs = 86_400_000;
const patient = (): { contentType: string; signal: AbortSignal } => ({
  contentType: 'video/mp4',
  signal: AbortSignal.timeout(60_000),
});

/** Bytes that show where they stand. */
const patterned = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index + 4 <= length; index += 4096) bytes.writeUInt32BE(index, index);
  return bytes;
};

const inChunks = async function* (bytes: Buffer, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += chunkBytes)
    yield bytes.subarray(start, start + chunkBytes);
};

describe.each([
  ['on disk', openDiskFiles],
  ['in a bucket', openS3Files],
])('media %s', (_name, openFiles) => {
  let place: TestFiles;
  beforeAll(async () => {
    place = await openFiles();
  });
  afterAll(async () => place.remove());

  it('reads back what was written at once', async () => {
    const id = newMediaId();
    const bytes = patterned(100_000);
    expect(await place.files.write(id, bytes, patient())).toBe(100_000);
    expect(await place.files.size(id)).toBe(100_000);
    expect((await readAll(place.files, id))?.equals(bytes)).toBe(true);
  });

  it.each([0, 1, 65_536, 65_537, 2 * largeBytes + 3])(
    'reads back a stream of %i bytes, and the same bytes at once',
    async (length) => {
      const bytes = patterned(length);
      for (const source of [inChunks(bytes, 700_001), bytes]) {
        const id = newMediaId();
        expect(await place.files.write(id, source, patient())).toBe(length);
        expect((await readAll(place.files, id))?.equals(bytes)).toBe(true);
        await place.files.remove(id);
      }
    },
  );

  it('reads exactly the range that is asked for', async () => {
    const bytes = patterned(60_000);
    const id = newMediaId();
    await place.files.write(id, bytes, patient());
    // s3rver takes an end of 0 for none.
    const positions = fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: bytes.length - 1 }));
    await fc.assert(
      fc.asyncProperty(positions, async ([one, other]) => {
        const range = { start: Math.min(one, other), end: Math.max(one, other) };
        expect(
          (await readAll(place.files, id, range))?.equals(bytes.subarray(range.start, range.end + 1)),
        ).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it('return null for media with fewer bytes than they should have, whatever range is asked for', async () => {
    const id = newMediaId();
    await place.files.write(id, patterned(10), patient());
    for (const range of [undefined, { start: 2, end: 5 }, { start: 2, end: 10 }, { start: 10, end: 10 }])
      expect(await place.files.read(id, { sizeBytes: 11, ...(range && { range }) })).toBeNull();
    const whole = await place.files.read(id, { sizeBytes: 10, range: { start: 2, end: 9 } });
    expect(Buffer.concat((await whole?.toArray()) ?? [])).toHaveLength(8);
  });

  it('return null for media that were never written or were removed', async () => {
    const neighbour = newMediaId();
    await place.files.write(neighbour, patterned(10), patient());
    const id = neighbour.slice(0, 2) + newMediaId().slice(2);
    expect(await place.files.size(id)).toBeNull();
    expect(await readAll(place.files, id)).toBeNull();
    await place.files.remove(id);
    await place.files.remove(newMediaId());
    await place.files.write(id, patterned(10), patient());
    await place.files.remove(id);
    expect(await place.files.size(id)).toBeNull();
    expect(await readAll(place.files, id)).toBeNull();
    await place.files.remove(id);
  });

  it('refuse invalid ids', async () => {
    for (const id of ['', 'short', '../../../../etc/passwd12345', `${newMediaId()}/x`, 'a'.repeat(65)]) {
      await expect(async () => place.files.write(id, patterned(1), patient())).rejects.toThrow(RangeError);
      await expect(async () => place.files.read(id)).rejects.toThrow(RangeError);
      await expect(async () => place.files.remove(id)).rejects.toThrow(RangeError);
      await expect(async () => place.files.size(id)).rejects.toThrow(RangeError);
    }
  });

  it.each([
    ['at once', 0],
    ['soon', mebibyte],
    ['late', largeBytes + mebibyte],
  ])('leaves nothing of a source that fails %s, and throws what it threw', async (_when, length) => {
    const before = await place.contents();
    const failure = new Error('the upstream broke off');
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield* inChunks(patterned(length), 64 * 1024);
      throw failure;
    };
    await expect(place.files.write(newMediaId(), source(), patient())).rejects.toBe(failure);
    expect(await place.contents()).toEqual(before);
  });

  it.each([
    ['silent from its beginning', 0],
    ['silent later on', largeBytes + mebibyte],
  ])('gives up a source that is %s when it is told to, and leaves nothing', async (_when, length) => {
    const before = await place.contents();
    const stop = new AbortController();
    const reason = new Error('the job was lost');
    let isLetGo = false;
    const chunks = inChunks(patterned(length), 64 * 1024);
    const source: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const next = await chunks.next();
          if (next.done !== true) return next;
          setTimeout(() => stop.abort(reason), 5);
          return new Promise(() => {});
        },
        return: async () => {
          isLetGo = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const options = { contentType: 'video/mp4', signal: stop.signal };
    await expect(place.files.write(newMediaId(), source, options)).rejects.toBe(reason);
    expect(await place.contents()).toEqual(before);
    expect(isLetGo).toBe(true);
  });

  it('does not begin when it was told to stop before', async () => {
    const before = await place.contents();
    const reason = new Error('too late');
    const options = { contentType: 'image/png', signal: AbortSignal.abort(reason) };
    await expect(place.files.write(newMediaId(), patterned(10), options)).rejects.toBe(reason);
    expect(await place.contents()).toEqual(before);
  });

  it('lets a reader leave before the end', async () => {
    const id = newMediaId();
    await place.files.write(id, patterned(4 * mebibyte), patient());
    const unread = await place.files.read(id);
    unread?.destroy();
    for await (const chunk of (await place.files.read(id)) ?? []) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    expect((await readAll(place.files, id, { start: 0, end: 9 }))?.length).toBe(10);
  });

  it('ends a stream when its signal aborts', async () => {
    const id = newMediaId();
    await place.files.write(id, patterned(4 * mebibyte), patient());
    const stop = new AbortController();
    const stream = await place.files.read(id, { signal: stop.signal });
    const read = async (): Promise<void> => {
      for await (const chunk of stream ?? []) if (chunk.length > 0) stop.abort();
    };
    await expect(read()).rejects.toThrow(/abort/i);
    expect(stream?.destroyed).toBe(true);
  });

  it('opens no stream for a reader who has left meanwhile', async () => {
    const id = newMediaId();
    await place.files.write(id, patterned(100), patient());
    const stop = new AbortController();
    const read = place.files.read(id, { signal: stop.signal });
    stop.abort(new Error('the reader has gone'));
    await expect(read).rejects.toThrow('the reader has gone');
  });

  it('removes what dead writes left once it is old enough, and nothing else', async () => {
    const [kept, old, fresh] = [newMediaId(), newMediaId(), newMediaId()];
    await place.files.write(kept, patterned(10), patient());
    const before = await place.contents();
    await place.plantLeftover(old, dayMs + 60_000);
    await place.plantLeftover(fresh, dayMs - 60_000);
    const options = { olderThan: Date.now() - dayMs, signal: AbortSignal.timeout(10_000) };
    expect(await place.files.removeLeftovers(options)).toBe(1);
    expect(await place.contents()).toHaveLength(before.length + 1);
    expect(await place.files.removeLeftovers({ ...options, olderThan: Date.now() + dayMs })).toBe(1);
    expect(await place.contents()).toEqual(before);
    expect(await place.files.size(kept)).toBe(10);
  });

  it("return the time of the storage's first use", async () => {
    // Clocks of disks and buckets may be rougher than ours.
    const before = Date.now() - 2_000;
    const since = await place.files.usedSince();
    expect(since).toBeGreaterThan(before);
    expect(since).toBeLessThan(Date.now() + 2_000);
    await place.files.write(newMediaId(), patterned(10), patient());
    expect(await place.files.usedSince()).toBe(since);
    const another = place.openAnother();
    expect(await another.usedSince()).toBeGreaterThanOrEqual(since);
    expect(await another.read(newMediaId()).catch(() => null)).toBeNull();
    await another.close();
    const broken = await place.openBroken();
    await expect(broken.usedSince()).rejects.toThrow(/EEXIST|NoSuchBucket/);
    await broken.close();
  });

  it('tell whether the storage answers', async () => {
    const signal = AbortSignal.timeout(10_000);
    await place.files.check({ signal });
    const broken = await place.openBroken();
    await expect(broken.check({ signal })).rejects.toThrow(/EEXIST|404/);
    await expect(broken.write(newMediaId(), patterned(10), patient())).rejects.toThrow(
      /ENOTDIR|NoSuchBucket/,
    );
    await broken.close();
  });
});
