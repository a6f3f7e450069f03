// Plain JavaScript without newer syntax, and imports without "node:": Node 14 must be able to run it.
import { existsSync, readFileSync } from 'fs';
import { createRequire } from 'module';
import { dirname, join } from 'path';

const oldestMajor = 24;

const majorOf = (version) => Number(/^v?(\d+)\./.exec(version)[1]);

/** Whether a Node of this version runs Causeway. */
export const isSupported = (version) => majorOf(version) >= oldestMajor;

/** The one line that says what is wrong with a Node and what to do. */
export const oldNodeMessage = (version) =>
  `Causeway needs Node.js ${oldestMajor} or newer, but this is ${version}: install it from https://nodejs.org, ` +
  'or run "npm install" in Causeway\'s folder, which on Linux and Windows brings one for "npm start" and "npm run".';

/** The Node that "npm install" brought for this machine; null when there is none, or none that is new enough. */
export const findInstalledNode = () => {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  let packageFile;
  try {
    packageFile = createRequire(import.meta.url).resolve(`node-${system}-${process.arch}/package.json`);
  } catch {
    return null;
  }
  const { version, bin } = JSON.parse(readFileSync(packageFile, 'utf8'));
  const file = join(dirname(packageFile), bin.node);
  return isSupported(version) && existsSync(file) ? file : null;
};
