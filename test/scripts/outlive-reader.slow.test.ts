import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

it.each(['pay', 'contract', 'demo'])(
  'npm run %s ends quietly when the reader of its output stops early, as `head` does',
  async (name) => {
    const child = spawn(process.execPath, [`scripts/${name}.ts`, '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect([errors, code]).toEqual(['', 0]);
  },
);
