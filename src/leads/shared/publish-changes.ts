import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { changeFiles, forgottenFile, newId } from '../embedded/lead-folder.ts';
import { readManifest } from '../embedded/manifest.ts';
import { useForgotten } from '../embedded/open-embedded-keeper.ts';
import { LeadKeeperError } from '../lead-keeper.ts';
import { openFileSums } from './file-sums.ts';
import { allObjects, type SharedManifest, type StoredObject } from './shared-manifest.ts';
import type { SharedPlace } from './shared-place.ts';

/** What is published: the manifest that was read or written last, and its tag. */
export interface Published {
  manifest: SharedManifest | null;
  tag: string | null;
}

export interface PublishOptions {
  place: SharedPlace;
  folder: string;
  before: Published;
  signal: AbortSignal;
  /** Called with the bytes that were stored, and those to store. */
  onProgress: (done: number, total: number) => void;
}

const readBytes = 1024 ** 2;

/** Objects that no manifest names are left by crashed publications when they are so old. */
const abandonedAfterMs = 86_400_000;
const removeTimeoutMs = 60_000;

/**
 * Publishes the profiles in `folder`: stores new objects, replaces the manifest if it is still `before`, and removes
 * the objects that only `before` had. Until the manifest is replaced, nothing that is searched changes. Does not publish
 * the same again. Throws LeadKeeperError `busy` if another machine has published meanwhile.
 */
export const publishChanges = async (options: PublishOptions): Promise<Published> => {
  const { place, before, signal } = options;
  const { manifest, files } = await describe(options);
  const isSame =
    before.manifest?.hasErased === manifest.hasErased &&
    allObjects(manifest).every(({ name }) => !files.has(name)) &&
    allObjects(before.manifest).length === allObjects(manifest).length;
  if (isSame) {
    await removeFormer(place, before.manifest ?? manifest);
    return before;
  }
  await store({ manifest, files }, options);
  const tag = await place.replaceManifest(JSON.stringify(manifest, null, 2), { tag: before.tag, signal });
  if (tag === null)
    throw new LeadKeeperError(
      'busy',
      `Another machine has changed the profiles in ${place.address} meanwhile. Run the same command again: the rows that ` +
        'it has read from files are kept.',
    );
  await removeFormer(place, manifest);
  return { manifest, tag };
};

/** Describes the folder as a manifest, and the files of objects that are not stored yet, by their names. */
const describe = async ({
  folder,
  before,
}: PublishOptions): Promise<{ manifest: SharedManifest; files: Map<string, string> }> => {
  const local = readManifest(folder);
  const known = allObjects(before.manifest);
  const sums = openFileSums(folder);
  const files = new Map<string, string>();
  const toObject = async (file: string): Promise<StoredObject> => {
    const sha256 = await sums.of(file);
    const same = known.find((object) => object.sha256 === sha256);
    if (same !== undefined) return { name: same.name, sha256, bytes: same.bytes };
    // A file whose rows were erased has the name of the object from before.
    const isNew = changeFiles(folder).has(file) && !known.some(({ name }) => name === file);
    const name = isNew ? file : `${basename(file).split(/[-.]/)[0]}-${newId()}${extname(file)}`;
    files.set(name, file);
    return { name, sha256, bytes: statSync(join(folder, file)).size };
  };
  const { base, delta, gone } = local ?? { base: null, delta: null, gone: null };
  const manifest: SharedManifest = {
    format: 1,
    generation: newId(),
    updatedAt: Date.now(),
    hasErased: local?.hasErased ?? false,
    base: base && { ...(await toObject(base.file)), profiles: base.profiles },
    delta: delta && { ...(await toObject(delta.file)), profiles: delta.profiles },
    gone: gone && { ...(await toObject(gone.file)), base: gone.base, delta: gone.delta },
    forgotten: existsSync(forgottenFile(folder))
      ? {
          ...useForgotten(folder, (list) => ({ people: list.count(), mark: list.mark })),
          ...(await toObject(basename(forgottenFile(folder)))),
        }
      : null,
    former: [],
  };
  const names = new Set(allObjects(manifest).map(({ name }) => name));
  manifest.former = known.map(({ name }) => name).filter((name) => !names.has(name));
  return { manifest, files };
};

const store = async (
  { manifest, files }: { manifest: SharedManifest; files: ReadonlyMap<string, string> },
  { place, folder, signal, onProgress }: PublishOptions,
): Promise<void> => {
  const objects = allObjects(manifest).filter(({ name }) => files.has(name));
  const total = objects.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { name, sha256 } of objects) {
    const path = join(folder, files.get(name) ?? name);
    const read = async function* (): AsyncGenerator<Uint8Array> {
      const hash = createHash('sha256');
      for await (const chunk of createReadStream(path, { highWaterMark: readBytes })) {
        hash.update(chunk);
        yield chunk;
        onProgress((done += chunk.byteLength), total);
      }
      if (hash.digest('hex') !== sha256) throw new Error(`${path} changed while it was stored`);
    };
    await place.put(name, read(), { signal });
  }
};

/** Is not stopped with the command, which has published by then. */
const removeFormer = async (place: SharedPlace, manifest: SharedManifest): Promise<void> => {
  const signal = AbortSignal.timeout(removeTimeoutMs);
  const current = new Set(allObjects(manifest).map(({ name }) => name));
  try {
    const abandoned = await place.listOld({ olderThan: Date.now() - abandonedAfterMs, signal });
    for (const name of new Set([...manifest.former, ...abandoned]))
      if (!current.has(name)) await place.remove(name, { signal });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LeadKeeperError(
      'failed',
      `The change is published, but former files could not be removed from ${place.address} (${reason}). Run the ` +
        'command again.',
      { cause },
    );
  }
};
