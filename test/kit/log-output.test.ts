import { describe, expect, it } from 'vitest';
import { createLogOutput, type WriteBytes } from '../../src/kit/log-output.ts';

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
  it('are written in order, one batch at a time', () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    for (const line of ['a\n', 'b\n', 'ü\n']) output.write(line);
    expect(place.pending).toHaveLength(1);
    place.succeed();
    expect(place.pending).toHaveLength(1);
    place.succeed();
    expect(place.kept()).toBe('a\nb\nü\n');
    expect(place.pending).toHaveLength(0);
  });

  it('are dropped when they cannot be written, and counted in the first batch that can', () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    for (const line of ['a\n', 'b\n', 'c\n']) output.write(line);
    place.fail('ENOSPC');
    place.fail('ENOSPC');
    output.write('d\n');
    place.fail('EIO');
    output.write('e\n');
    place.succeed();
    output.write('f\n');
    place.succeed();
    expect(place.kept().split('\n')).toEqual([notice(4), 'e', 'f', '']);
  });

  it('stay whole lines if the output takes only a part of a batch', () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    output.write('first\n');
    output.write('second\n');
    output.write('third\n');
    place.succeed(3);
    place.succeed();
    place.succeed(9);
    place.fail('ENOSPC');
    output.write('fourth\n');
    place.succeed();
    expect(place.kept().split('\n')).toEqual(['first', 'second', 'th', notice(1), 'fourth', '']);
  });

  it('are kept up to a limit while nobody reads; newer ones are dropped', () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes, { maxWaiting: 20 });
    for (let index = 0; index < 1_000; index += 1) output.write(`line ${index}\n`);
    place.succeed();
    place.succeed();
    expect(place.kept().split('\n')).toEqual(['line 0', notice(997), 'line 1', 'line 2', '']);
  });

  it('are tried again while the output is busy', async () => {
    const place = openPlace();
    const output = createLogOutput(place.writeBytes);
    output.write('a\n');
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
    place.succeed();
    await flushed;
    output.write('b\n');
    await output.flush(1);
    expect(place.kept()).toBe('a\n');
  });
});
