import { useState } from 'preact/hooks';
import { money } from '../format.ts';
import { JobLink } from '../parts/history.tsx';
import { Pictures, type JobAnswer } from '../parts/outcome.tsx';
import { Problem, readFields } from '../parts/parts.tsx';
import { useAction, useConsole } from '../use-console.ts';
import { CodeSamples } from './code-samples.tsx';

const path = '/v1/images/generations';

/** Makes an image of a text. */
export const ImageTrial = ({ model }: { model: string }) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const [prompt, setPrompt] = useState('A pier at dawn');
  const [made, setMade] = useState<JobAnswer | null>(null);
  const make = (event: SubmitEvent): void => {
    const { prompt: text = '' } = readFields(event);
    setPrompt(text);
    setMade(null);
    void run(async () =>
      setMade(await api.read<JobAnswer>(path.slice(1), { body: { model, prompt: text } })),
    );
  };
  return (
    <>
      <form class="ask" onSubmit={make}>
        <label class="field">
          <span>What the image shows</span>
          <textarea name="prompt" rows={3} required defaultValue={prompt} />
        </label>
        <div class="row">
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Making the image…' : 'Make the image'}
          </button>
        </div>
      </form>
      <Problem text={problem} />
      {made !== null && (
        <section aria-live="polite">
          <Pictures urls={made.data.map(({ url }) => url)} />
          <p class="soft">
            Cost: {money(made.usage.cost_usd)}. Job <JobLink id={made.id} />
          </p>
        </section>
      )}
      <CodeSamples path={path} method="images.generate" body={{ model, prompt }} />
    </>
  );
};
