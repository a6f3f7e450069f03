import { styleText } from 'node:util';
import { outliveReader } from './outlive-reader.ts';

/** Prints the demo: numbered steps, observations and durations. */
export interface Terminal {
  step<Result>(title: string, work: () => Promise<Result>): Promise<Result>;
  say(text: string): void;
  /** Prints text as it arrives, without a line end. */
  piece(text: string): void;
  fail(error: unknown): void;
}

const indent = '     ';

export const createTerminal = (): Terminal => {
  outliveReader();
  let count = 0;
  let isMidLine = false;
  const write = (text: string): void => {
    process.stdout.write(text);
    isMidLine = !text.endsWith('\n');
  };
  const endLine = (): void => {
    if (isMidLine) write('\n');
  };

  return {
    step: async (title, work) => {
      count += 1;
      endLine();
      write(`\n${styleText('bold', `${String(count).padStart(2)}.  ${title}`)}\n`);
      const startedAt = performance.now();
      const result = await work();
      endLine();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      write(`${indent}${styleText('green', '✓')} ${styleText('dim', `${seconds} s`)}\n`);
      return result;
    },
    say: (text) => {
      endLine();
      write(`${text.replace(/^/gm, indent)}\n`);
    },
    piece: (text) => write(isMidLine ? text.replaceAll('\n', `\n${indent}`) : indent + text),
    fail: (error) => {
      endLine();
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.stderr.write(`\n${styleText('red', 'The demo failed:')} ${message}\n`);
    },
  };
};
