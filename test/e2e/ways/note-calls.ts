import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import type { Insertions, Notes } from './notes.ts';

/**
 * Preloaded into a gateway that runs from src (`--import`): every function of src notes its file and its caller. Asks
 * are messages from the parent: `begin` forgets all notes, `take` answers them. Threads note their files alone.
 */
const src = fileURLToPath(new URL('../../../src/', import.meta.url));
// Written by the parent: the calls of `noteWay` to insert.
const insertions = JSON.parse(readFileSync(process.env['WAY_INSERTIONS'] ?? '', 'utf8')) as Record<
  string,
  Insertions
>;
const files = Object.keys(insertions);

const shared = 'causeway-ways';
if (isMainThread) setEnvironmentData(shared, new SharedArrayBuffer(4 * files.length));
const ofThreads = new Int32Array(getEnvironmentData(shared) as SharedArrayBuffer);

const requests = new AsyncLocalStorage<true>();
let notes: Notes = { calls: [], commands: [], threadFiles: [] };

const fileOf = (site: NodeJS.CallSite): string | null => {
  const name = site.getFileName() ?? '';
  const path = name.startsWith('file:') ? fileURLToPath(name) : name;
  return path.startsWith(src) ? relative(src, path).split(sep).join('/') : null;
};

/** Returns the nearest file on the stack that is in src and outside of kit/; null: the runtime called. */
const findCaller = (): string | null => {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  Error.prepareStackTrace = (_error, sites) => sites;
  const holder: { stack?: NodeJS.CallSite[] } = {};
  // Without the two functions of this file, and the one that is noted.
  Error.captureStackTrace(holder, note);
  const sites = (holder.stack ?? []).slice(1);
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  for (const site of sites) {
    const file = fileOf(site);
    if (file !== null && !file.startsWith('kit/')) return file;
  }
  return null;
};

const note = (index: number, name: string, detail?: unknown): void => {
  if (!isMainThread) {
    Atomics.add(ofThreads, index, 1);
    return;
  }
  if (requests.getStore() !== true) return;
  const file = files[index] ?? '';
  notes.calls.push([findCaller(), file, name]);
  if (file === 'store/sqlite/open-sqlite-store.ts' && typeof detail === 'string') notes.commands.push(detail);
};
Object.assign(globalThis, { noteWay: note });

// Background work belongs to no request, nor do other threads' answers.
const { Server } = process.getBuiltinModule('node:http');
const { emit } = Server.prototype;
Object.assign(Server.prototype, {
  emit(this: unknown, ...event: [name: string, ...facts: unknown[]]): boolean {
    const serve = (): boolean => Reflect.apply(emit as () => boolean, this, event);
    return event[0] === 'request' ? requests.run(true, serve) : serve();
  },
});

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const path = url.startsWith('file:') ? fileURLToPath(url) : '';
    const file = path.startsWith(src) ? relative(src, path).split(sep).join('/') : '';
    if (insertions[file] === undefined) return loaded;
    let source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
    for (const [at, text] of insertions[file]) source = source.slice(0, at) + text + source.slice(at);
    return { ...loaded, source };
  },
});

if (isMainThread)
  process.on('message', (asked: 'begin' | 'take') => {
    if (asked === 'take')
      process.send?.({
        ...notes,
        threadFiles: files.filter((_file, index) => Atomics.load(ofThreads, index) > 0),
      });
    notes = { calls: [], commands: [], threadFiles: [] };
    ofThreads.fill(0);
  });
