import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { cpuMsOf, residentMiBOf } from '../../../bench/gateway/process-usage.ts';

/** Works for 60 ms of processor time in a thread, then for as long in the main thread; tells its usage, and waits. */
const program = `
  const { Worker } = require('node:worker_threads');
  const work = () => { while (process.threadCpuUsage().user < 60_000); };
  const tell = "const { parentPort } = require('node:worker_threads'); parentPort.postMessage(0); setInterval(() => {}, 1e6);";
  new Worker('(' + work + ')();' + tell, { eval: true }).on('message', () => {
    work();
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify([(user + system) / 1000, process.memoryUsage.rss() / 2 ** 20]));
  });`;

it('reads the processor time of all threads of a process, and its memory', async () => {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const [cpuMs, residentMiB] = JSON.parse(String(text)) as [number, number];
  expect(cpuMs).toBeGreaterThan(120);
  expect(await cpuMsOf(child.pid!)).toBeGreaterThan(cpuMs - 10);
  expect(await residentMiBOf(child.pid!)).toBeGreaterThan(residentMiB / 2);
  child.kill('SIGKILL');
  await once(child, 'exit');
});
