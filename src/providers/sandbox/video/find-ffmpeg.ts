import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { once } from '../../../once.ts';
import { ProviderError } from '../../provider-error.ts';

const run = promisify(execFile);
const needed = ['libx264', 'libx265', 'aac', 'png'];
const probeMs = 15_000;

/**
 * The program that films: the configured one, else the one on the PATH, else the one that npm installs. Throws
 * ProviderError when there is none that can encode what the sandbox makes. Asks each program anew until one is found.
 */
export const createFindFfmpeg = (configured: string | null): (() => Promise<string>) =>
  once(() => find(configured));

const find = async (configured: string | null): Promise<string> => {
  const problems: string[] = [];
  for (const candidate of configured === null ? [() => 'ffmpeg', installedByNpm] : [() => configured]) {
    try {
      const path = await candidate();
      await assertEncodes(path);
      return path;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new ProviderError(
    `the sandbox makes videos with ffmpeg, and there is none to be used; install one or set FFMPEG_PATH (${problems.join('; ')})`,
    { failure: 'retry_other', code: 'upstream_unavailable' },
  );
};

/** The package throws a text on platforms that it has no program for. */
const installedByNpm = async (): Promise<string> => {
  const { default: ffmpeg } = await import('@ffmpeg-installer/ffmpeg');
  return ffmpeg.path;
};

const assertEncodes = async (path: string): Promise<void> => {
  const { stdout } = await run(path, ['-hide_banner', '-encoders'], { timeout: probeMs, windowsHide: true });
  const missing = needed.filter((encoder) => !new RegExp(`^ \\S+ ${encoder}\\s`, 'm').test(stdout));
  if (missing.length > 0) throw new Error(`${path} lacks the encoders ${missing.join(', ')}`);
};
