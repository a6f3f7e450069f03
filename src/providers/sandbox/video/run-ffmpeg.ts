import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { ProviderError } from '../../provider-error.ts';

export interface RunFfmpegOptions {
  path: string;
  arguments: readonly string[];
  /** Called with how many pictures were written, some times a second. */
  onFrame?: (frames: number) => void;
  limitMs: number;
  signal: AbortSignal;
}

const keptComplaint = 2_000;
/** Answering requests comes before filming. */
const niceness = 10;

/** Runs ffmpeg to its end; it is killed when `signal` aborts or the limit passes. Throws ProviderError or the signal's reason. */
export const runFfmpeg = async (options: RunFfmpegOptions): Promise<void> => {
  const { signal, limitMs } = options;
  signal.throwIfAborted();
  const child = spawn(options.path, ['-y', '-nostdin', '-v', 'error', ...options.arguments], {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
  lowerPriority(child.pid);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-keptComplaint);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, frames] = /^frame=\s*(\d+)$/.exec(line) ?? [];
    if (frames !== undefined) options.onFrame?.(Number(frames));
  });
  const kill = (): void => void child.kill('SIGKILL');
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, limitMs);
  signal.addEventListener('abort', kill, { once: true });
  try {
    const ending = await new Promise<string | null>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, by) => resolve(code === 0 ? null : `it ended with ${code ?? by}`));
    });
    signal.throwIfAborted();
    if (isLate) throw failed(`it took more than ${limitMs} ms`);
    if (ending !== null) throw failed(`${ending}: ${complaint.trim()}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
};

const lowerPriority = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) setPriority(pid, niceness);
  } catch {
    // It has ended already, or the system does not allow it: filming works all the same.
  }
};

const failed = (problem: string): ProviderError =>
  new ProviderError(`ffmpeg made no video: ${problem}`, { failure: 'fatal', code: 'upstream_error' });
