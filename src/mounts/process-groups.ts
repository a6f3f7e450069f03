import { mkdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listDirectory } from '../kit/files.ts';
import { memoizeAsync } from '../kit/memoize.ts';

/** Ends a group of processes, which may outlive its leader. */
export const endGroup = (leader: number, signal: NodeJS.Signals): void => {
  // The groups 0 and 1 stand for many.
  if (leader <= 1) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // There is nobody left in it.
  }
};

export type ProcessGroups = ReturnType<typeof createProcessGroups>;

/** Notes the groups of processes that run, so that the next gateway on the folder ends those that outlive this one. */
export const createProcessGroups = (folder: string) => {
  const place = memoizeAsync(readPlace);
  const endOne = async (name: string): Promise<void> => {
    const file = join(folder, name);
    const [startedAt, ...noted] = (await readFile(file, 'utf8')).split(' ');
    if (noted.join(' ') === (await place()) && (await isStill(Number(name), Number(startedAt))))
      endGroup(Number(name), 'SIGKILL');
    await rm(file, { force: true });
  };
  return {
    note: async (leader: number): Promise<void> => {
      const found = await readProcess(leader);
      if (found === null) return;
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, String(leader)), `${found.startedAt} ${await place()}`);
    },
    forget: (leader: number): Promise<void> => rm(join(folder, String(leader)), { force: true }),
    /** Ends the noted groups. Rejects after all of them if a note cannot be read. */
    endNoted: async (): Promise<void> => {
      const ended = await Promise.allSettled((await listDirectory(folder)).map(endOne));
      for (const one of ended) if (one.status === 'rejected') throw one.reason;
    },
  };
};

/** Names the boot of the machine, and the space of its process numbers, as containers have their own. */
const readPlace = async (): Promise<string> =>
  `${(await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()} ${await readlink('/proc/self/ns/pid')}`;

/**
 * Returns whether a group is the one that was noted. A number is given to no other process while the group has one. If its
 * leader has ended, all of it may have, and another group have the number: a noted leader began a session, too.
 */
const isStill = async (group: number, startedAt: number): Promise<boolean> => {
  const leader = await readProcess(group);
  if (leader !== null) return leader.startedAt === startedAt;
  const pids = (await listDirectory('/proc')).filter((name) => /^\d+$/.test(name));
  const members = (await Promise.all(pids.map(readProcess))).filter((found) => found?.group === group);
  return members.every((found) => found?.session === group && found.startedAt >= startedAt);
};

/** Returns what the system says of a process; null: there is none, or no /proc. `startedAt`: in ticks since the boot. */
const readProcess = async (pid: number | string) => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // The name, in brackets, may have spaces.
  const words = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, , group, session] = words;
  return { group, session, startedAt: words[19] ?? 0 };
};
