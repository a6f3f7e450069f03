import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createFindFfmpeg } from '../../../src/providers/sandbox/video/find-ffmpeg.ts';

const run = promisify(execFile);

/** A real, tiny video of moving test bars with a tone. */
export const makeClip = async ({
  seconds = 1,
  size = '64x36',
  format = 'mp4',
  flags = [],
}: {
  seconds?: number;
  size?: string;
  format?: 'mp4' | 'mov' | 'webm';
  /** More of ffmpeg's arguments for the output. */
  flags?: string[];
} = {}): Promise<Buffer> => {
  const ffmpeg = await createFindFfmpeg(null)();
  const folder = await mkdtemp(join(tmpdir(), 'causeway-clip-'));
  const file = join(folder, `clip.${format}`);
  const codecs =
    format === 'webm'
      ? ['-c:v', 'libvpx', '-deadline', 'realtime', '-c:a', 'libvorbis']
      : ['-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  try {
    await run(ffmpeg, [
      ...['-y', '-nostdin', '-v', 'error', '-t', String(seconds)],
      ...['-f', 'lavfi', '-i', `testsrc=size=${size}:rate=12`],
      ...['-f', 'lavfi', '-t', String(seconds), '-i', 'sine=frequency=440:sample_rate=48000'],
      ...codecs,
      ...['-pix_fmt', 'yuv420p', ...flags, '-f', format, file],
    ]);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true });
  }
};
