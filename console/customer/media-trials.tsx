import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { JobLink } from '../parts/history.tsx';
import { costText, Film, hasEnded, Pictures, type JobAnswer } from '../parts/outcome.tsx';
import { Problem, readFields } from '../parts/parts.tsx';
import { useAction, useCallId, useConsole, useLoad } from '../use-console.ts';
import { CodeSamples } from './code-samples.tsx';

interface MediaTrialProps {
  model: string;
  /** Of the interface, such as `/v1/videos`. */
  path: string;
  noun: string;
  /** The method of the `openai` package; absent: it has none for this. */
  method?: string;
  body?: object;
  children(made: JobAnswer): ComponentChildren;
}

/** Makes something of a text. */
const MediaTrial = ({ model, path, noun, method, body: more, children }: MediaTrialProps) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const { once } = useCallId();
  const [prompt, setPrompt] = useState('A pier at dawn');
  const [made, setMade] = useState<JobAnswer | null>(null);
  const make = (event: SubmitEvent): void => {
    const { prompt: text = '' } = readFields(event);
    setPrompt(text);
    setMade(null);
    const body = { model, prompt: text, ...more };
    const call = (callId: string) => api.read<JobAnswer>(path.slice(1), { body, callId });
    void run(async () => setMade(await once(call, { request: JSON.stringify(body) })));
  };
  return (
    <>
      <form class="ask" onSubmit={make}>
        <label class="field">
          <span>What the {noun} shows</span>
          <textarea name="prompt" rows={3} required defaultValue={prompt} />
        </label>
        <div class="row">
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? `Making the ${noun}…` : `Make the ${noun}`}
          </button>
        </div>
      </form>
      <Problem text={problem} />
      {made !== null && (
        <section aria-live="polite">
          {children(made)}
          <p class="soft">
            Job <JobLink id={made.id} />
          </p>
        </section>
      )}
      <CodeSamples path={path} method={method} body={{ model, prompt, ...more }} />
    </>
  );
};

/** Follows an image to its end, which may come after the call. */
const Image = ({ first }: { first: JobAnswer }) => {
  const { data } = useLoad<JobAnswer>(`v1/jobs/${first.id}`, { everyMs: 2_000, isLast: hasEnded });
  const job = data ?? first;
  if (!hasEnded(job)) return <p role="status">The image is being made…</p>;
  return (
    <>
      <Problem text={job.error && job.error.message} />
      <Pictures urls={job.data.map(({ url }) => url)} />
      <p class="soft">{costText(job)}</p>
    </>
  );
};

export const ImageTrial = ({ model }: { model: string }) => (
  <MediaTrial model={model} path="/v1/images/generations" noun="image" method="images.generate">
    {(job) => <Image key={job.id} first={job} />}
  </MediaTrial>
);

export const VideoTrial = ({ model }: { model: string }) => (
  <MediaTrial model={model} path="/v1/videos" noun="video" body={{ duration: 4, resolution: '480p' }}>
    {({ id }) => <Film key={id} id={id} />}
  </MediaTrial>
);
