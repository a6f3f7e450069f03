import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createFindFfmpeg } from '../../../src/providers/sandbox/video/find-ffmpeg.ts';

const run = promisify(execFile);

/** How long a player plays a film: ffmpeg decodes it, and the last picture or sound ends then. 0 when it cannot. */
export const playingSeconds = async (film: Buffer): Promise<number> => {
  const ffmpeg = await createFindFfmpeg(null)();
  const folder = await mkdtemp(join(tmpdir(), 'causeway-playing-'));
  const file = join(folder, 'film');
  try {
    await writeFile(file, film);
    const { stdout } = await run(
      ffmpeg,
      ['-nostdin', '-v', 'quiet', '-i', file, '-fps_mode', 'passthrough', '-f', 'framecrc', '-'],
      { maxBuffer: 64 * 1024 ** 2, timeout: 20_000 },
    ).catch(({ stdout: part }: { stdout?: string }) => ({ stdout: part ?? '' }));
    const units = new Map<string, number>();
    let end = 0;
    for (const line of stdout.split('\n')) {
      const [, unitOf, top, bottom] = /^#tb (\d+): (\d+)\/(\d+)$/.exec(line) ?? [];
      if (unitOf !== undefined) units.set(unitOf, Number(top) / Number(bottom));
      const [stream, , shown, lasts] = line.split(/,\s*/);
      const unit = units.get(stream ?? '');
      if (unit !== undefined) end = Math.max(end, (Number(shown) + Number(lasts)) * unit);
    }
    return end;
  } finally {
    await rm(folder, { recursive: true });
  }
};
