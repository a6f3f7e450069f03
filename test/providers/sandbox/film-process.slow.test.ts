import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { FilmEncoding } from '../../../src/providers/sandbox/video/encode-film.ts';
import type { FilmReport } from '../../../src/providers/sandbox/video/encode-worker.ts';

const seconds = 3_600;
const fps = 24;

/** A process at the first pictures of a film of an hour. */
const startEncoding = async (): Promise<ChildProcess> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-film-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const still = join(folder, 'still');
  await writeFile(still, Buffer.alloc(320 * 180 * 4));
  const encoder = fork(new URL('../../../src/providers/sandbox/video/encode-worker.ts', import.meta.url), {
    execArgv: [],
    env: {},
  });
  onTestFinished(() => void encoder.kill('SIGKILL'));
  const task: FilmEncoding = {
    plan: {
      width: 320,
      height: 180,
      frames: seconds * fps,
      fps,
      codec: 'h264',
      container: 'mp4',
      hasSound: false,
      hasLastFrame: false,
      shots: [{ kind: 'card' }],
      card: { caption: 'x', seed: 'x' },
    },
    stills: [still],
    film: join(folder, 'film'),
  };
  encoder.send(task);
  expect(await nextReport(encoder)).toEqual({ made: 1 });
  return encoder;
};

const nextReport = async (encoder: ChildProcess): Promise<FilmReport> => {
  const [report] = (await once(encoder, 'message')) as [FilmReport];
  return report;
};

it('the process of a film ends with its gateway, although its film is not made', async () => {
  const encoder = await startEncoding();
  const ended = once(encoder, 'exit');
  // What it sees when the gateway is killed.
  encoder.disconnect();
  await ended;
  expect(encoder.signalCode).toBe('SIGKILL');
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'the process of a film goes on after %s, as the gateway decides when it ends',
  async (signal) => {
    const encoder = await startEncoding();
    encoder.kill(signal);
    const made: FilmReport[] = [];
    while (made.length < 50) made.push(await nextReport(encoder));
    expect(made.every((report) => 'made' in report)).toBe(true);
    expect(encoder.exitCode ?? encoder.signalCode).toBeNull();
  },
);
