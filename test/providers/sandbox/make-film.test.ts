import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { FilmPlan } from '../../../src/providers/sandbox/video/plan-film.ts';
import { makeFilm } from '../../../src/providers/sandbox/video/make-film.ts';
import { makeScans } from '../../media/input-images.ts';
import { noAbort, rejectionOf } from '../collect.ts';

const plan: FilmPlan = {
  width: 160,
  height: 90,
  frames: 24,
  fps: 24,
  codec: 'h264',
  container: 'mp4',
  hasSound: false,
  hasLastFrame: false,
  shots: [{ kind: 'image', file: 'input-0.jpeg' }],
  card: { caption: 'x', seed: 'x' },
};

it('a stored image that would occupy the decoder ends its film before anything is decoded', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-film-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'input-0.jpeg'), makeScans(800));
  const making = makeFilm({
    plan,
    folder,
    draw: () => Promise.reject(new Error('nothing is drawn')),
    onPicture: () => {},
    signal: noAbort(),
  });
  expect(await rejectionOf(making)).toMatchObject({
    name: 'ProviderError',
    code: 'invalid_parameter',
    cause: { problem: 'too_many_parts' },
  });
  expect(await readdir(folder)).toEqual(['input-0.jpeg']);
});
