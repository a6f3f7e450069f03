// Loaded ahead of Causeway (node --import): keeps what Node makes of its TypeScript for the next start, and for the
// threads that a gateway starts. Whoever may write into that folder may change the code itself.
import module from 'module';
import { fileURLToPath } from 'url';
import { hasSources } from './has-sources.mjs';

// Threads look for the variable. What an operator set there stands, and so does NODE_DISABLE_COMPILE_CACHE.
if (process.env.NODE_COMPILE_CACHE === undefined && hasSources())
  process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
if (process.env.NODE_COMPILE_CACHE) module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
