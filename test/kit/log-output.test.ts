import { describe, expect, it } from 'vitest';
import { createLogOutput, type WriteBytes } from '../../src/kit/log.ts';

type Done = Parameters<WriteBytes>[1];

/** A place whose writes end when and as the test says. */
const openPlace = () => {
  const kept: string[] = [];
  const pending: { bytes: Uint8Array; done: Done }[] = [];
  const take = () => {
    const next = pending.shift();
    if (next === undefined) throw new Error('nothing is being written');
    return next;
  };
  return {
    kept: () => kept.join(''),
    /** The first lines were gathered for a while. */
    gathered: () => expect.poll(() => pending.length).toBe(1),
    pending,
    writeBytes: ((bytes, done) => void pending.push({ bytes, done })) satisfies WriteBytes,
    succeed: (length = Infinity) => {
      const { bytes, done } = take();
      const written = bytes.subarray(0, length);
      kept.push(Buffer.from(written).toString());
      done(null, written.length);
    },
    fail: (code: string) => take().done(Object.assign(new Error(code), { code }), 0),
  };
};

const notice = (dropped: number) =>
  expect.stringMatching(new RegExp(`^{"level":40,"time":\\d+,"dropped":${dropped},"msg":".*"}$`));

describe('lines of the log', () => {
  it('that come together are written together, in order, one batch at a time', async () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    for (const line of ['a\n', 'b\n']) output.write(line);
    await place.gathered();
    output.write('ü\n');
    expect(place.pending).toHaveLength(1);
    place.succeed();
    expect(place.kept()).toBe('a\nb\n');
    expect(place.pending).toHaveLength(1);
    place.succeed();
    expect(place.kept()).toBe('a\nb\nü\n');
    expect(place.pending).toHaveLength(0);
  });

  it('that wait when the process ends are written at once', () => {
    let last = '';
    const output = createLogOutput(openPlace().writeBytes, { writeNow: (text) => (last += text) });
    for (const line of ['a\n', 'b\n']) output.write(line);
    output.writeLast();
    output.writeLast();
    expect(last).toBe('a\nb\n');
  });

  it('are dropped when they cannot be written, and counted in the first batch that can', async () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    for (const line of ['a\n', 'b\n', 'c\n']) output.write(line);
    await place.gathered();
    place.fail('ENOSPC');
    output.write('d\n');
    await place.gathered();
    place.fail('EIO');
    output.write('e\n');
    await place.gathered();
    place.succeed();
    output.write('f\n');
    await place.gathered();
    place.succeed();
    expect(place.kept().split('\n')).toEqual([notice(4), 'e', 'f', '']);
  });

  it('stay whole lines if the output takes only a part of a batch', async () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    output.write('first\n');
    output.write('second\n');
    output.write('third\n');
    await place.gathered();
    place.succeed(3);
    place.succeed(12);
    place.fail('ENOSPC');
    output.write('fourth\n');
    await place.gathered();
    place.succeed();
    expect(place.kept().split('\n')).toEqual(['first', 'second', 'th', notice(1), 'fourth', '']);
  });

  it('are kept up to a limit while nobody reads; newer ones are dropped', async () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes, { maxWaiting: 20 });
    for (let index = 0; index < 1_000; index += 1) output.write(`line ${index}\n`);
    await place.gathered();
    place.succeed();
    expect(place.kept().split('\n')).toEqual([notice(998), 'line 0', 'line 1', '']);
  });

  it('are tried again while the output is busy', async () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    output.write('a\n');
    await place.gathered();
    place.fail('EAGAIN');
    await expect.poll(() => place.pending.length).toBe(1);
    place.succeed();
    expect(place.kept()).toBe('a\n');
  });

  it('are awaited at the end, but not forever', async () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    await output.flush(60_000);
    output.write('a\n');
    const flushed = output.flush(60_000);
    await place.gathered();
    place.succeed();
    await flushed;
    output.write('b\n');
    await output.flush(1);
    expect(place.kept()).toBe('a\n');
  });
});
